import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  AddonDelivery,
  AddonPipeline,
  type ConfigMap,
  ConfigMapKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  DeploymentKind,
  kindRef,
  type UnknownObject,
} from '#api'
import { defaultPipeline } from '#controllers'
import { KubeError } from '#kube'
import { memoryCluster } from '#testing'
import { findAbsent } from '../../../src/controllers/addon-delivery/resource-set/presence.ts'
import { watchOrder } from '../../support/addons/order.ts'
import { type AddonsWorld, addonsWorld, conditionStatus, HOME } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const isReady = (name = 'demo') => conditionStatus(world.delivery(name), 'Ready') === 'True'
const stage = (name: string) => world.stage('demo', name)
const helm = { namespace: 'flux-system', name: 'helm-controller' }
const shared = { namespace: 'default', name: 'fluxcd-install-2.9.5' }
const NetworkPolicy = kindRef('networking.k8s.io/v1', 'NetworkPolicy')
const Binding = clusterResourceSetBindingKind('v1beta2')
/** On the deliveries; each is on its Cluster too. */
const redeliveries = () =>
  world.events.filter(({ reason, about }) => reason === 'Redelivering' && about === 'AddonDelivery')

describe('what was delivered and has gone', () => {
  it('comes back when a person deletes it, and the neighbour who shares the payload applies nothing', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.addCluster('other')
    await world.until('both are ready', () => isReady() && isReady('other'))
    const payload = world.home.peek<ConfigMap>(ConfigMapKind, shared)
    const neighbour = world.home.peek(Binding, { namespace: 'default', name: 'other' })
    await workload.others.delete(DeploymentKind, helm)

    await world.until('it is seen', () => stage('flux')?.reason === 'ObjectsMissing', 800)
    const { message = '', lastError, redelivery } = stage('flux') ?? {}
    assert.match(message, /lacks Deployment flux-system\/helm-controller \(redelivery 1 of 5 follows\)$/)
    assert.equal(lastError?.code, 'CAPT_OBJECTS_MISSING')
    assert.deepEqual(redelivery?.[0]?.absent, ['Deployment flux-system/helm-controller'])
    assert.equal(stage('karpenter')?.state, 'Healthy')
    const seenAt = world.clock.now()
    await world.until('it is ready again', isReady, 200)
    assert.ok(world.clock.now() - seenAt >= 55_000, 'not before it was missing for about a minute')
    assert.ok(workload.peek(DeploymentKind, helm))
    assert.equal(stage('flux')?.lastError, undefined)
    assert.equal(stage('flux')?.redelivery?.[0]?.times, 1)
    assert.equal(redeliveries().length, 1, 'only the set that lost something')

    assert.equal(stage('flux')?.delivered?.resources?.[0]?.name, 'fluxcd-resources-demo')
    assert.equal(world.home.peek(ConfigMapKind, shared)?.metadata.resourceVersion, payload?.metadata.resourceVersion)
    const after = world.home.peek(Binding, { namespace: 'default', name: 'other' })
    assert.equal(after?.metadata.resourceVersion, neighbour?.metadata.resourceVersion)
  })

  it('comes back in order when the whole workload is new and empty', async () => {
    world = await addonsWorld()
    await world.addCluster('demo')
    await world.until('ready', isReady)
    const renewed = await world.renewWorkload('demo')
    const early = watchOrder(renewed)
    await world.until('it is seen', () => stage('flux')?.reason === 'ObjectsMissing', 800)
    assert.equal(stage('karpenter')?.reason, 'NeedsNotReady')
    await world.until('ready again', isReady, 200)
    assert.deepEqual(early, [])
    assert.deepEqual(
      ['flux', 'karpenter', 'node-pool'].map((name) => stage(name)?.state),
      ['Healthy', 'Healthy', 'Healthy'],
    )
    assert.equal(redeliveries().length, 4, 'Flux, its probe, Karpenter, the node pool')
    assert.ok(['flux', 'karpenter', 'node-pool'].every((name) => stage(name)?.attempts === undefined))
  })

  it('goes on where it was when the manager is killed while it waits', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    await workload.others.delete(DeploymentKind, helm)
    await world.restart()
    await world.until('it is seen', () => stage('flux')?.reason === 'ObjectsMissing', 800)
    const since = stage('flux')?.redelivery?.[0]?.since
    await world.idle(20)
    await world.restart()
    await world.idle(1)
    assert.equal(stage('flux')?.redelivery?.[0]?.since, since)
    await world.until('ready again', isReady, 120)
    assert.equal(redeliveries().length, 1)
  })

  it('is noticed within the hour even if no health check reads it', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    const [policy] = workload.storage.list(NetworkPolicy)
    const key = { namespace: 'flux-system', name: policy!.metadata.name }
    await workload.others.delete(NetworkPolicy, key)
    await world.until('it is back', () => workload.peek(NetworkPolicy, key), 3600)
    await world.until('ready', isReady)
  })

  it('is not brought for ever: a person is asked, and may ask for more', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    let isFighting = true
    workload.storage.onEvent(({ type, kind, object }) => {
      if (isFighting && type === 'ADDED' && kind.kind === 'Deployment' && object.metadata.name === helm.name)
        queueMicrotask(() => void workload.others.delete(DeploymentKind, helm))
    })
    await workload.others.delete(DeploymentKind, helm)
    await world.until('capt gives up', () => stage('flux')?.state === 'Failed', 6000)
    assert.match(stage('flux')?.message ?? '', /\(gave up after 5 redeliveries\)$/)
    assert.equal(conditionStatus(world.delivery('demo'), 'Stalled'), 'True')
    assert.equal(redeliveries().length, 5)
    for (let i = 0; i < 200; i++) await world.clock.advance(5000)
    assert.equal(redeliveries().length, 5)

    isFighting = false
    const body = { metadata: { annotations: { 'capt.appthrust.com/retry': 'now' } } }
    await world.home.others.patch(AddonDelivery, { namespace: 'default', name: 'demo' }, { type: 'merge', body })
    await world.until('ready at once', isReady, 30)
    assert.equal(redeliveries().length, 6)
  })

  it('is not missed when it goes by itself, nor when its kind may only be spelt another way', async () => {
    world = await addonsWorld()
    const { objects } = memoryCluster({})
    const job = (name: string, spec: object) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace: 'a' },
      spec,
    })
    assert.equal(await findAbsent(objects, [job('done', { ttlSecondsAfterFinished: 60 })]), undefined)
    assert.deepEqual(await findAbsent(objects, [job('kept', {})]), { names: ['Job a/kept'], isCertain: true })
    const odd = { apiVersion: 'odd.example/v1', kind: 'Ox', metadata: { name: 'one' } }
    const notServed = { ...objects, get: async () => Promise.reject(new KubeError('KindNotServed', 'no oxs')) }
    assert.deepEqual(await findAbsent(notServed as never, [odd]), { names: ['Ox one'], isCertain: false })
  })
})

describe('an option that is changed and changed back', () => {
  it('reaches the workload both times, although the binding still records the first content', async () => {
    const shipped = defaultPipeline(HOME)
    const [flux] = shipped.spec.stages
    world = await addonsWorld({ pipeline: { ...shipped, spec: { ...shipped.spec, stages: [flux!] } } })
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    const taints = () => {
      const { spec } = workload.peek(DeploymentKind, helm) as UnknownObject & {
        spec: { template: { spec: { tolerations?: readonly object[] } } }
      }
      return spec.template.spec.tolerations ?? []
    }
    const change = async (tolerations: readonly object[]) => {
      const body = { spec: { stages: [{ ...flux, flux: { ...flux!.flux, tolerations } }] } }
      await world.home.others.patch(AddonPipeline, { namespace: HOME, name: 'default' }, { type: 'merge', body })
    }
    await change([{ operator: 'Exists' }])
    await world.until('the toleration arrives', () => taints().length === 1 && isReady())
    await change([])
    await world.until('it goes again', () => taints().length === 0 && isReady())
    const set = world.home.peek<UnknownObject>(clusterResourceSetKind('v1beta2'), {
      namespace: 'default',
      name: 'fluxcd-installer-demo',
    }) as UnknownObject & { spec: { resources: readonly { name: string }[] } }
    assert.deepEqual(
      set.spec.resources.map(({ name }) => name),
      ['fluxcd-resources-demo'],
    )
  })
})
