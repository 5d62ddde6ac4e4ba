// Trouble around add-ons that work or are on their way: where people see it, and what capt leaves alone.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { clusterResourceSetKind, conditionOf, keyOf } from '#api'
import { FAULT_ANNOTATION } from '../../../src/simulation/names.ts'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const stage = (name: string) => world.stage('demo', name)
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const OCIRepository = {
  group: 'source.toolkit.fluxcd.io',
  version: 'v1',
  kind: 'OCIRepository',
  plural: 'ocirepositories',
  namespaced: true,
} as const
const probeKey = { namespace: 'flux-system', name: 'capt-probe' }

describe('add-ons in trouble', () => {
  it('stay Ready and become Degraded while the registry is out and the chart is in storage', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    const annotations = { [FAULT_ANNOTATION]: 'pull' }
    for (const source of workload.storage.list(OCIRepository))
      await workload.others.patch(OCIRepository, keyOf(source), { type: 'merge', body: { metadata: { annotations } } })
    const degraded = () => conditionOf(world.delivery('demo')!, 'Degraded')
    await world.until('it is seen', () => degraded()?.status === 'True', 1000)
    assert.equal(isReady(), true, 'what works stays Ready')
    assert.equal(stage('karpenter')?.state, 'Healthy')
    assert.ok(
      world.events.some(({ type, message }) => type === 'Warning' && message.includes('OCIArtifactPullFailed')),
      'people find it among the Warnings',
    )
    assert.match(degraded()!.message, /OCIArtifactPullFailed.*chart cannot be fetched/)
    assert.equal(stage('flux')?.lastError?.code, 'CAPT_STAGE_DEGRADED')
    const none = { [FAULT_ANNOTATION]: null }
    for (const source of workload.storage.list(OCIRepository))
      await workload.others.patch(OCIRepository, keyOf(source), {
        type: 'merge',
        body: { metadata: { annotations: none } },
      })
    await world.until('it recovers', () => degraded()?.status === 'False', 1000)
    assert.equal(stage('flux')?.lastError, undefined)
  })

  it('show the error of a failed Helm action long before the stage runs out of time', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { faults: { karpenter: 'crash' } })
    await world.until('the cause is shown', () => stage('karpenter')?.lastError !== undefined)
    assert.equal(stage('karpenter')?.state, 'Checking')
    assert.equal(stage('karpenter')?.attempts, undefined, 'nothing was retried yet')
    assert.match(stage('karpenter')!.lastError!.hint!, /kubectl logs --previous/)
    assert.equal(conditionStatus(world.delivery('demo'), 'Degraded'), 'True')
    const warnings = world.events.filter(({ type, message }) => type === 'Warning' && message.includes('CrashLoop'))
    assert.deepEqual(
      warnings.map(({ about }) => about),
      ['AddonDelivery', 'Cluster'],
      'a Warning with the cause on the delivery and on its Cluster',
    )
  })

  it('leave no source behind when nobody wants Karpenter any more', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    assert.ok(workload.peek(OCIRepository, probeKey), 'the chart is fetched once before the gate opens')
    const labels = { 'installation.appthrust.com/eks-karpenter': null }
    await world.home.others.patch(
      Cluster,
      { namespace: 'default', name: 'demo' },
      { type: 'merge', body: { metadata: { labels } } },
    )
    await world.until('the source is gone', () => workload.peek(OCIRepository, probeKey) === undefined, 600)
    await world.until('Flux is Ready alone', () => isReady() && stage('flux')?.state === 'Healthy', 600)
    assert.equal(stage('karpenter')?.state, 'NotWanted')
    const left = world.home.storage.list(clusterResourceSetKind('v1beta2')).map((set) => set.metadata.name)
    assert.deepEqual(left, ['fluxcd-installer-demo'])
  })

  it('do not claim for Flux what is checked for Karpenter alone', async () => {
    world = await addonsWorld()
    await world.addCluster('demo')
    await world.until('ready', isReady)
    const evidence = (name: string) => stage(name)?.healthy?.evidence?.join(' ') ?? ''
    assert.doesNotMatch(evidence('flux'), /not on its own nodes/)
    assert.match(evidence('karpenter'), /not on its own nodes/)
  })
})
