import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { DeploymentKind } from '#api'
import type { MemoryCluster } from '#testing'
import { watchOrder } from '../../support/addons/order.ts'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const demo = () => world.home.peek(Cluster, { namespace: 'default', name: 'demo' })
const gate = () => demo()?.metadata.labels?.['karpenter.sh/enabled']

describe('the order of add-ons', () => {
  it('is kept when both labels are there from the start', async () => {
    world = await addonsWorld()
    const early = watchOrder(await world.addCluster('demo'))
    await world.until('ready', isReady)
    assert.deepEqual(early, [])
  })

  it('is kept when Flux is slow: the gate stays shut until Flux is observed to work', async () => {
    world = await addonsWorld()
    const early = watchOrder(await world.addCluster('demo', { faults: { 'helm-controller': 'slow=40s' } }))
    await world.until('Flux is delivered', () => world.stage('demo', 'flux')?.delivered?.equal)
    await world.idle(10)
    assert.equal(gate(), undefined)
    assert.equal(world.stage('demo', 'karpenter')?.reason, 'NeedsNotReady')
    await world.until('ready', isReady, 90)
    assert.deepEqual(early, [])
  })

  it('is kept when Flux fails at first and recovers', async () => {
    world = await addonsWorld()
    const early = watchOrder(await world.addCluster('demo', { faults: { 'source-controller': 'crash' } }))
    await world.until('the crash is seen', () => world.stage('demo', 'flux')?.message?.includes('CrashLoopBackOff'))
    assert.equal(gate(), undefined)
    await world.setFault('demo', {})
    await world.until('ready', isReady)
    assert.deepEqual(early, [])
  })

  it('is kept when the manager is killed at the gate', async () => {
    world = await addonsWorld()
    const early = watchOrder(await world.addCluster('demo'))
    await world.until('Flux is on its way', () => demo()?.metadata.labels?.['capt.appthrust.com/cluster'])
    world.home.failNext('patch', Cluster, 'Unreachable')
    await world.until(
      'the gate is about to open',
      () => world.delivery('demo')?.metadata.annotations?.['capt.appthrust.com/gates-opened'],
    )
    await world.restart()
    await world.until('ready', isReady)
    assert.equal(gate(), 'true')
    assert.deepEqual(early, [])
  })

  it('is kept when a person sets the gate label first: the label is a request, and it is reported as early', async () => {
    world = await addonsWorld()
    const labels = { 'karpenter.sh/enabled': 'true' }
    const early = watchOrder(await world.addCluster('demo', { labels, faults: { 'helm-controller': 'slow=20s' } }))
    await world.until('the early label is reported', () => world.stage('demo', 'karpenter')?.gate?.early === true)
    assert.equal(world.stage('demo', 'karpenter')?.gate?.open, false)
    await world.until('ready', isReady)
    assert.deepEqual(early, [])
    assert.equal(
      world.delivery('demo')?.metadata.annotations?.['capt.appthrust.com/gates-opened'],
      'karpenter.sh/enabled=person',
    )
  })

  it('opens the gate within five requests after Flux was observed healthy, and waits for no timer', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { faults: { 'capt-probe': 'slow=5s' } })
    let seenAt = -1
    workload.storage.onEvent(({ object }) => {
      if (object.metadata.name === 'capt-probe' && conditionStatus(object, 'Ready') === 'True')
        seenAt = world.home.requests.length
    })
    await world.until('the gate is open', () => gate() === 'true')
    const after = world.home.requests.slice(seenAt)
    const opened = after.findIndex(({ verb, kind }) => verb === 'patch' && kind === 'Cluster')
    assert.ok(opened >= 0 && opened < 5, `the gate was request ${opened + 1}: ${JSON.stringify(after.slice(0, 8))}`)
  })

  it('leaves a Cluster alone that asks for nothing', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { labels: {} })
    await world.until('ready', isReady)
    assert.deepEqual(
      world.delivery('demo')?.status?.stages?.map((stage) => stage.state),
      ['NotWanted', 'NotWanted', 'NotWanted'],
    )
    assert.equal(workload.peek(DeploymentKind, { namespace: 'flux-system', name: 'source-controller' }), undefined)
    assert.deepEqual(Object.keys(demo()?.metadata.labels ?? {}), [])
    const requests = world.home.requests.length
    const looks = workload.requests.length
    for (let i = 0; i < 400; i++) await world.clock.advance(5000)
    assert.equal(world.home.requests.length, requests, 'nobody looks at what nobody wants')
    assert.equal(workload.requests.length, looks)
    const body = { metadata: { labels: { 'fluxcd.io/enabled': 'true' } } }
    await world.home.others.patch(Cluster, { namespace: 'default', name: 'demo' }, { type: 'merge', body })
    await world.until('the request is noticed', () => world.stage('demo', 'flux')?.state === 'Healthy')
  })

  it('delivers Flux alone when only Flux is asked for', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { labels: { 'fluxcd.io/enabled': 'true' } })
    await world.until('ready', isReady)
    assert.equal(world.stage('demo', 'flux')?.state, 'Healthy')
    assert.equal(workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), undefined)
    assert.equal(gate(), undefined)
  })
})

describe('two clusters of one namespace', () => {
  it('share Flux and keep everything else apart', async () => {
    world = await addonsWorld()
    const one = await world.addCluster('one')
    const two = await world.addCluster('two')
    const ready = (name: string) => conditionStatus(world.delivery(name), 'Ready') === 'True'
    await world.until('both are ready', () => ready('one') && ready('two'))
    assert.ok(!JSON.stringify(everything(one)).includes('two'))
    assert.ok(!JSON.stringify(everything(two)).includes('Karpenter-one'))
    const payloads = ['one', 'two'].map((name) => world.stage(name, 'flux')?.delivered?.resources?.[0]?.name)
    assert.deepEqual(payloads, ['fluxcd-install-2.9.5', 'fluxcd-install-2.9.5'])
  })
})

function everything(workload: MemoryCluster): readonly unknown[] {
  const kinds = ['OCIRepository', 'HelmRelease'].map((kind) => ({
    group: kind === 'HelmRelease' ? 'helm.toolkit.fluxcd.io' : 'source.toolkit.fluxcd.io',
    version: kind === 'HelmRelease' ? 'v2' : 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: true,
  }))
  const pools = [
    { group: 'karpenter.sh', version: 'v1', kind: 'NodePool', plural: 'nodepools', namespaced: false },
    { group: 'karpenter.k8s.aws', version: 'v1', kind: 'EC2NodeClass', plural: 'ec2nodeclasses', namespaced: false },
  ]
  const found = [...kinds, ...pools].flatMap((kind) => workload.storage.list(kind))
  assert.ok(found.length >= 4, 'the comparison must see the objects')
  return found
}
