// node bench/waits.ts: how long the parts that capt waits for take by themselves, where no AWS is needed: Terraform, Cluster API, helm
// and kubectl on real API servers. docs/timeouts.md compares the default timeouts with the longest of these figures.
// `make build` and `node test/real/run.ts kube-contract` once before it.
import { execFileSync } from 'node:child_process'
import type { MEASURED } from '../scripts/timeout-figures.ts'
import { chartsFolder } from '../test/real/support/karpenter-definitions.ts'
import { binary, type Kube, until } from '../test/real/support/lab.ts'
import { ADDON_LABELS, clusterManifests, templates, toText } from '../test/real/support/manifests.ts'
import { startWorld, type World } from '../test/real/support/world.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
/** As many as EKS allows on a small machine. */
const PODS = 110
const KARPENTER = '1.14.1'
const taken = new Map<keyof typeof MEASURED, number[]>()

async function time(what: keyof typeof MEASURED, work: () => unknown): Promise<void> {
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1000
  taken.set(what, [...(taken.get(what) ?? []), seconds])
  console.log(`${what}: ${seconds.toFixed(1)} s`)
}

async function restart({ stopApiserver, startApiserver }: Kube): Promise<void> {
  await stopApiserver()
  await time('an API server that starts again, until it answers', startApiserver)
}

async function drain(kube: Kube): Promise<void> {
  const pod = (i: number) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${i}`, namespace: 'default' },
    spec: { nodeName: 'full', terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'none' }] },
  })
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'full' } }
  kube.kubectl(['apply', '-f', '-'], toText([node, ...Array.from({ length: PODS }, (_, i) => pod(i))]))
  await time(`a node with ${PODS} pods that end at once, drained`, () =>
    kube.kubectl(['drain', 'full', '--force', '--grace-period=0']),
  )
  kube.kubectl(['delete', 'node', 'full'])
}

async function install({ kubeconfig }: Kube): Promise<void> {
  const helm = (...args: readonly string[]) =>
    execFileSync(binary('helm'), [...args, '-n', 'kube-system', '--kubeconfig', kubeconfig], { stdio: 'pipe' })
  const charts = chartsFolder(KARPENTER)
  await time(`Karpenter's charts, installed by helm without waiting for pods`, () => {
    helm('install', 'karpenter-crd', `${charts}/karpenter-crd`)
    helm('install', 'karpenter', `${charts}/karpenter`, '--skip-crds', '--set', 'settings.clusterName=demo')
  })
  for (const name of ['karpenter', 'karpenter-crd']) helm('uninstall', name)
}

/** Terraform runs on the simulated twins of the shipped templates: what is left of a run without AWS. */
async function live({ api, kinds, management }: World, name: string): Promise<void> {
  const runs = [`${name}-vpc`, `${name}-eks-controlplane-apply`]
  const phaseOf = async (run: string) => (await api.find(kinds.apply, run))?.['status']?.phase
  const isIn = (run: string, phase: string | undefined) => async () => (await phaseOf(run)) === phase
  management.kubectl(
    ['apply', '-f', '-'],
    toText([...templates(), ...clusterManifests({ name, labels: ADDON_LABELS })]),
  )
  for (const run of runs) {
    await until(`${run} begins`, isIn(run, 'Running'))
    await time('a Terraform run that makes, without AWS', () => until(`${run} is applied`, isIn(run, 'Applied')))
  }
  const isDelivered = async () => {
    const stages: { name: string; delivered?: { equal: boolean } }[] =
      (await api.find(kinds.delivery, name))?.['status']?.stages ?? []
    return stages.find((stage) => stage.name === 'flux')?.delivered?.equal === true
  }
  const hasSet = async () => (await api.find(kinds.set, `fluxcd-installer-${name}`)) !== undefined
  await until('the first set', hasSet)
  await time('a stage, from its ClusterResourceSet to its objects in the cluster', () => until('Flux', isDelivered))
  management.kubectl(['delete', 'cluster', name, '--wait=false'])
  for (const run of runs.toReversed()) {
    await until(`${run} begins to go`, isIn(run, 'Destroying'))
    await time('a Terraform run that destroys, without AWS', () => until(`${run} is gone`, isIn(run, undefined)))
  }
}

const world = await startWorld('v1.14.2')
try {
  for (let round = 0; round < ROUNDS; round++) {
    await restart(world.workload)
    await drain(world.workload)
    await install(world.workload)
    const name = `round-${round}`
    const playing = await world.play({ namespace: 'default', name })
    await live(world, name)
    await playing.stop()
  }
} finally {
  await world.stop()
}
console.log(`\nthe longest of ${ROUNDS} rounds`)
for (const [what, seconds] of taken) console.log(`${what}: ${Math.max(...seconds).toFixed(1)} s`)
