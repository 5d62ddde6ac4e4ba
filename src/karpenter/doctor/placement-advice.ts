// Which controllers could land on nodes that Karpenter makes and ends, and the patch that keeps each of them off.
import { type Affinity, canRunOn, mergeGuard } from '#catalog'
import { POOL_LABEL } from '../kinds.ts'
import type { FoundWorkload, Survey } from '../survey/survey.ts'
import type { Trap } from './trap.ts'

export function advisePlacement({ kubernetes: { advised, nodePools } }: Survey): readonly Trap[] {
  const nodes = nodePools.map(({ name, labels, taints }) => ({
    labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', ...labels, [POOL_LABEL]: name },
    taints,
    name,
  }))
  return advised.flatMap((workload) => {
    const pools = nodes
      .filter((node) => canRunOn(workload.placement as Parameters<typeof canRunOn>[0], node))
      .map(({ name }) => name)
    if (pools.length === 0) return []
    const { namespace, name } = workload
    const what = `${namespace}/${name} may run on nodes of NodePool ${pools.join(', ')}, which come and go`
    return [{ word: 'placement', weight: 'know', what, todo: 'keep it on node groups', command: patchFor(workload) }]
  })
}

function patchFor({ namespace, name, placement }: FoundWorkload): string {
  const affinity = mergeGuard(placement.affinity as Affinity | undefined)
  const patch = JSON.stringify({ spec: { template: { spec: { affinity: { nodeAffinity: affinity.nodeAffinity } } } } })
  return `kubectl -n ${namespace} patch deployment ${name} --type merge -p '${patch.replaceAll("'", "'\\''")}'`
}
