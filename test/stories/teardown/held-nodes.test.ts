// Nodes that cannot drain: pods that must not be disrupted, budgets that allow none, and a NodePool whose own budget is 0. What
// lives waits and names what holds it; what is deleted ends, and what is left is reported.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonDelivery, type AddonPipeline, type AnyObject, keyOf, kindRef, PodKind } from '#api'
import { defaultPipeline } from '#controllers'
import { type AddonsWorld, addonsWorld, Cluster, HOME } from '../../support/addons/world.ts'
import { clusterWithNodes, machinesOf, NodeClaim, PROFILE } from '../../support/teardown/karpenter-nodes.ts'
import type { WholeCluster } from '../../support/teardown/whole-cluster.ts'

let world: AddonsWorld
let whole: WholeCluster
afterEach(async () => {
  const stopping = whole.stop()
  await world.close()
  await stopping
})

const KEY = { namespace: 'default', name: 'demo' }
const PodDisruptionBudget = kindRef('policy/v1', 'PodDisruptionBudget')
const BUDGET = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } },
} as AnyObject

const others = () => whole.workload.others
/** Whether the pod must not be disrupted. */
const mark = (value: 'true' | null) => {
  const pod = whole.workload.storage.list(PodKind).find(({ metadata }) => metadata.name.startsWith('web'))!
  const body = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': value } } }
  return others().patch(PodKind, keyOf(pod), { type: 'merge', body })
}
const limit = () => others().create(PodDisruptionBudget, BUDGET)
const POD = /Pod default\/web-\S+ \(karpenter\.sh\/do-not-disrupt\)/
const LIMIT = /PodDisruptionBudget default\/web \(allows no disruption\)/

async function start(nodePool: object = {}, teardown: object = {}): Promise<void> {
  const { spec, ...pipeline } = defaultPipeline(HOME)
  const stages = spec.stages.map((stage) =>
    stage.nodePool ? { ...stage, nodePool: { ...stage.nodePool, nodePool } } : stage,
  )
  world = await addonsWorld({
    pipeline: {
      ...pipeline,
      spec: { ...spec, stages, teardown: { ...spec.teardown, timeout: '2m', ...teardown } },
    } as AddonPipeline,
  })
  whole = await clusterWithNodes(world, 1)
}

async function withdraw(): Promise<void> {
  const annotations = { 'capt.appthrust.com/confirm-removal': '*' }
  await world.home.others.patch(AddonDelivery, KEY, { type: 'merge', body: { metadata: { annotations } } })
  const body = { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': null } } }
  await world.home.others.patch(Cluster, KEY, { type: 'merge', body })
}
const stuck = () =>
  world
    .delivery('demo')
    ?.status?.conditions?.find(({ type, reason }) => type === 'Stalled' && reason === 'RemovalStuck')
const claimsStep = () => whole.lastStatus()?.teardown?.steps?.find(({ name }) => name.endsWith('/node-claims'))

describe('An add-on that is withdrawn', () => {
  it('waits for pods and budgets that hold a node, names them, keeps Karpenter, and goes on by itself afterwards', async () => {
    await start()
    await mark('true')
    await limit()
    await withdraw()
    await world.until('it is stuck', stuck, 240)
    for (const named of [/held by /, POD, LIMIT, /budgets; or ask for the stage again/])
      assert.match(stuck()!.message, named)
    await mark(null)
    await world.until('the budget alone holds it', () => !POD.test(stuck()?.message ?? 'Pod'), 240)
    assert.match(stuck()!.message, LIMIT)
    assert.equal(whole.workload.storage.list(NodeClaim).length, 1)
    assert.equal((await machinesOf(world)).length, 1)
    await others().delete(PodDisruptionBudget, keyOf(BUDGET))
    await world.until('it is withdrawn', () => world.stage('demo', 'karpenter')?.state === 'NotWanted', 300)
    assert.deepEqual(await machinesOf(world), [])
  })
})

describe('The teardown of a deleted Cluster', () => {
  it('ends although pods and budgets hold a node, and reports the machine that is left', async () => {
    await start()
    await mark('true')
    await limit()
    const running = await machinesOf(world)
    await whole.remove(3600)
    assert.equal(claimsStep()?.state, 'GaveUp')
    for (const named of [POD, LIMIT]) assert.match(claimsStep()?.message ?? '', named)
    const left = whole.workload.storage.list(NodeClaim).map(({ metadata }) => `NodeClaim ${metadata.name}`)
    await whole.assertLedger([...running, PROFILE], ['EC2NodeClass default', ...left])
  })

  it('terminates that machine when terminateInstances allows it', async () => {
    await start({}, { terminateInstances: true })
    await mark('true')
    await whole.remove(3600)
    assert.deepEqual(await machinesOf(world), [])
    const left = whole.workload.storage.list(NodeClaim).map(({ metadata }) => `NodeClaim ${metadata.name}`)
    await whole.assertLedger([PROFILE], ['EC2NodeClass default', ...left])
  })

  it('leaves nothing when the pool has a termination grace period', async () => {
    await start({ template: { spec: { terminationGracePeriod: '1m' } } })
    await mark('true')
    await whole.remove(600)
    assert.equal(claimsStep()?.state, 'Done')
    await whole.assertLedger([])
  })

  it('is not held by a NodePool whose disruption budget is 0: it limits what Karpenter does by itself', async () => {
    await start({ disruption: { budgets: [{ nodes: '0' }] } })
    await whole.remove(300)
    await whole.assertLedger([])
  })
})
