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
    const { namespace, name, writer } = workload
    const what = `${namespace}/${name} may run on nodes of NodePool ${pools.join(', ')}, which come and go`
    const trap = { word: 'placement', weight: 'know', what } as const
    const affinity = { nodeAffinity: mergeGuard(workload.placement.affinity as Affinity | undefined).nodeAffinity }
    return writer === undefined
      ? [{ ...trap, todo: 'keep it on node groups', command: patchFor(workload, affinity) }]
      : [{ ...trap, todo: `keep it on node groups in ${writer}, by affinity ${JSON.stringify(affinity)}` }]
  })
}

function patchFor({ namespace, name, kind }: FoundWorkload, affinity: object): string {
  const patch = JSON.stringify({ spec: { template: { spec: { affinity } } } })
  return `kubectl -n ${namespace} patch ${kind.toLowerCase()} ${name} --type merge -p '${patch.replaceAll("'", "'\\''")}'`
}
