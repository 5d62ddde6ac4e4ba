// After a Cluster is deleted the cloud holds nothing of it, or exactly what was reported: with and without add-ons, with
// the workload API alive and dead, with controllers alive and dead. The ledger is the simulated cloud's own.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { defaultPipeline } from '#addons'
import {
  type AddonPipeline,
  type AnyObject,
  CustomResourceDefinitionKind,
  DeploymentKind,
  type KindRef,
  NodeKind,
  ServiceKind,
} from '#api'
import { KubeError } from '#kube'
import { simulatedLedger } from '#simulation'
import type { MemoryCluster } from '#testing'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus, HOME, WISHES } from '../addons-world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const key = { namespace: 'default', name: 'demo' }
const kind = (group: string, name: string, plural: string, namespaced = true): KindRef => ({
  group,
  version: 'v1',
  kind: name,
  plural,
  namespaced,
})
const NodePool = kind('karpenter.sh', 'NodePool', 'nodepools', false)
const NodeClaim = kind('karpenter.sh', 'NodeClaim', 'nodeclaims', false)
const Ingress = kind('networking.k8s.io', 'Ingress', 'ingresses')
const Gateway = kind('gateway.networking.k8s.io', 'Gateway', 'gateways')
const ServiceAccount = kind('', 'ServiceAccount', 'serviceaccounts')

const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const isTornDown = () => conditionStatus(world.delivery('demo'), 'TornDown') === 'True'
const teardown = () => world.delivery('demo')?.status?.teardown
const leftovers = () => [...(teardown()?.leftovers ?? [])].sort()
const ledger = () => simulatedLedger(world.home.others, key)

/** Everything that the cloud holds, in the words of a report. */
async function held(): Promise<string[]> {
  const instances = (await ledger().list()).map(({ id }) => `instance ${id}`)
  const objects = (await ledger().objects()).map((one) => `${one.kind} ${one.id}`)
  return [...instances, ...objects].sort()
}

const deployment = (name: string, over: object = {}) =>
  ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'kube-system' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name, resources: { requests: { cpu: '1500m' } } }], ...over },
      },
    },
  }) as never

const service = (name: string, over: object = {}) =>
  ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }], ...over },
  }) as never

/** Balancers of both controllers, a volume, and with add-ons a machine that the balancers' controller runs on. */
async function furnished(options: { addons: boolean; pipeline?: AddonPipeline }): Promise<MemoryCluster> {
  world = await addonsWorld(options.pipeline ? { pipeline: options.pipeline } : {})
  const workload = await world.addCluster('demo', { labels: options.addons ? WISHES : {} })
  await world.until('ready', isReady)
  const place = options.addons ? { nodeSelector: { 'karpenter.sh/nodepool': 'default' } } : {}
  await workload.others.create(DeploymentKind, deployment('aws-load-balancer-controller', place))
  await workload.others.create(ServiceKind, service('classic'))
  await workload.others.create(ServiceKind, service('network', { loadBalancerClass: 'service.k8s.aws/nlb' }))
  await workload.others.create(Ingress, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'shop', namespace: 'default' },
    spec: { ingressClassName: 'alb', defaultBackend: { service: { name: 'network', port: { number: 80 } } } },
  } as never)
  const balancers = async () => (await ledger().objects()).filter((one) => one.kind === 'load balancer')
  await world.until('three balancers are there', async () => (await balancers()).length === 3)
  await ledger().hold({ kind: 'volume', id: 'vol-1' })
  assert.equal((await ledger().list()).length, options.addons ? 1 : 0)
  return workload
}

const deleteCluster = () => world.home.others.delete(Cluster, key)
const silence = () => world.broken.set('default/demo', new KubeError('Unreachable', 'connect ECONNREFUSED'))
const withTeardown = (over: object): AddonPipeline => {
  const shipped = defaultPipeline(HOME)
  return { ...shipped, spec: { ...shipped.spec, teardown: { ...shipped.spec.teardown, ...over } } }
}
async function setAvailable(workload: MemoryCluster, namespace: string, name: string, count: number): Promise<void> {
  const body = { status: { availableReplicas: count } }
  await workload.others.patch(DeploymentKind, { namespace, name }, { type: 'merge', body }, { subresource: 'status' })
}

describe('the cloud after a Cluster was deleted', () => {
  for (const addons of [true, false]) {
    const which = addons ? 'with add-ons' : 'without add-ons'

    it(`holds only the volume that was reported, ${which} and the API alive`, async () => {
      const workload = await furnished({ addons })
      const order: string[] = []
      workload.storage.onEvent(({ type, kind }) => {
        if (type === 'DELETED' && ['Service', 'Ingress', 'NodeClaim'].includes(kind.kind)) order.push(kind.kind)
      })
      await deleteCluster()
      await world.until('torn down', isTornDown, 120)
      assert.deepEqual(await held(), ['volume vol-1'])
      assert.deepEqual(leftovers(), ['volume vol-1'])
      assert.deepEqual(order.slice(0, 3).sort(), ['Ingress', 'Service', 'Service'], 'balancers go before nodes')
      assert.equal(order.filter((one) => one === 'NodeClaim').length, addons ? 1 : 0)
    })

    it(`holds what was reported and no balancer, ${which} and the API dead`, async () => {
      await furnished({ addons })
      const machines = (await ledger().list()).map(({ id }) => `instance ${id}`)
      silence()
      await deleteCluster()
      await world.until('torn down', isTornDown, 900)
      assert.deepEqual(await held(), [...machines, 'volume vol-1'])
      assert.deepEqual(leftovers(), await held())
      assert.ok(
        world.events.some(({ reason, message }) => reason === 'NetworkObjectsDeleted' && /load balancer/.test(message)),
      )
    })

    it(`holds exactly what was reported, ${which}, the API dead and nothing allowed`, async () => {
      await furnished({ addons, pipeline: withTeardown({ deleteLoadBalancers: false }) })
      const before = await held()
      silence()
      await deleteCluster()
      await world.until('torn down', isTornDown, 900)
      assert.deepEqual(await held(), before)
      assert.deepEqual(leftovers(), before)
    })
  }

  it('holds only the volume when everything is allowed and the API is dead', async () => {
    await furnished({ addons: true, pipeline: withTeardown({ terminateInstances: true }) })
    silence()
    await deleteCluster()
    await world.until('torn down', isTornDown, 900)
    assert.deepEqual(await held(), ['volume vol-1'])
    assert.deepEqual(leftovers(), ['volume vol-1'])
  })

  it('holds no balancer of a controller that is dead: they are found by tag', async () => {
    const workload = await furnished({ addons: false })
    await workload.others.delete(DeploymentKind, { namespace: 'kube-system', name: 'aws-load-balancer-controller' })
    await deleteCluster()
    await world.until('torn down', isTornDown, 900)
    assert.deepEqual(await held(), ['volume vol-1'])
    assert.deepEqual(leftovers(), ['volume vol-1'])
  })

  it('holds exactly what was reported when the cloud refuses to delete', async () => {
    world = await addonsWorld({
      instances: (simulated) => ({ ...simulated, removeNetwork: () => Promise.reject(new Error('AccessDenied')) }),
    })
    const workload = await world.addCluster('demo', { labels: {} })
    await world.until('ready', isReady)
    await workload.others.create(ServiceKind, service('classic'))
    await world.until('a balancer is there', async () => (await ledger().objects()).length > 0)
    silence()
    await deleteCluster()
    await world.until('torn down', isTornDown, 1200)
    assert.equal((await held()).length, 3)
    assert.deepEqual(leftovers(), await held())
  })

  it('is not claimed to be empty when balancers cannot be listed', async () => {
    world = await addonsWorld({
      instances: (simulated) => ({ ...simulated, network: () => Promise.reject(new Error('AccessDenied')) }),
    })
    const workload = await world.addCluster('demo', { labels: {} })
    await world.until('ready', isReady)
    await workload.others.create(ServiceKind, service('classic'))
    await world.until('a balancer is there', async () => (await ledger().objects()).length > 0)
    silence()
    await deleteCluster()
    await world.until('torn down', isTornDown, 1200)
    assert.deepEqual(leftovers(), ['load balancers that could not be looked for (AccessDenied)'])
  })

  it('loses no Gateway of a cluster without add-ons', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { labels: {} })
    await world.until('ready', isReady)
    workload.storage.seed(Gateway, {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'edge', namespace: 'default' },
    } as AnyObject)
    await deleteCluster()
    await world.until('torn down', isTornDown)
    assert.deepEqual(workload.storage.list(Gateway), [])
  })

  it('keeps the balancers of a Cluster that lives when only its AddonDelivery is deleted', async () => {
    const workload = await furnished({ addons: true })
    const balancers = (await ledger().objects()).length
    const uid = world.delivery('demo')?.metadata.uid
    await world.home.others.delete(
      {
        group: 'infrastructure.cluster.x-k8s.io',
        version: 'v1beta1',
        kind: 'AddonDelivery',
        plural: 'addondeliveries',
        namespaced: true,
      },
      key,
    )
    await world.until('it is gone', () => world.delivery('demo')?.metadata.uid !== uid, 400)
    assert.equal((await ledger().objects()).length, balancers)
    assert.ok(workload.peek(ServiceKind, { namespace: 'default', name: 'classic' }))
  })
})

describe('a teardown with dead controllers', () => {
  it('removes what the release made when helm-controller is dead', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    await world.stopActors('demo')
    await setAvailable(workload, 'flux-system', 'helm-controller', 0)
    await setAvailable(workload, 'kube-system', 'karpenter', 0)
    await deleteCluster()
    await world.until('torn down', isTornDown, 1200)
    const message = world.delivery('demo')?.status?.conditions?.find(({ type }) => type === 'TornDown')?.message
    assert.equal(workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), undefined, message)
    assert.equal(workload.peek(ServiceAccount, { namespace: 'kube-system', name: 'karpenter' }), undefined)
    assert.equal(message, 'Everything was removed')
  })

  it('removes pools, claims, nodes and definitions when Karpenter is dead', async () => {
    world = await addonsWorld({ pipeline: withTeardown({ terminateInstances: true }) })
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    await workload.others.create(DeploymentKind, deployment('web'))
    await world.until('a node is there', () =>
      workload.storage.list(NodeClaim).some((claim) => conditionStatus(claim, 'Ready') === 'True'),
    )
    await world.stopActors('demo')
    const karpenters = () =>
      workload.storage.list(NodeKind).filter((node) => node.metadata.labels?.['karpenter.sh/nodepool'])
    for (const { metadata } of karpenters()) {
      const body = { metadata: { finalizers: ['karpenter.sh/termination'] } }
      await workload.others.patch(NodeKind, { name: metadata.name }, { type: 'merge', body })
    }
    assert.equal(karpenters().length, 1)
    await setAvailable(workload, 'kube-system', 'karpenter', 0)
    await setAvailable(workload, 'flux-system', 'helm-controller', 0)
    await deleteCluster()
    await world.until('torn down', isTornDown, 1200)
    assert.deepEqual(
      [NodePool, NodeClaim].map((one) => workload.storage.list(one).length),
      [0, 0],
    )
    assert.deepEqual(karpenters(), [])
    assert.equal(workload.peek(CustomResourceDefinitionKind, { name: 'nodepools.karpenter.sh' }), undefined)
    assert.deepEqual(await held(), [])
    assert.deepEqual(leftovers(), [])
  })

  it('removes every definition that the chart brought, CapacityBuffer too', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    const name = 'capacitybuffers.autoscaling.x-k8s.io'
    if (!workload.peek(CustomResourceDefinitionKind, { name }))
      workload.storage.seed(CustomResourceDefinitionKind, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name },
      } as AnyObject)
    await deleteCluster()
    await world.until('torn down', isTornDown, 120)
    const left = workload.storage.list(CustomResourceDefinitionKind).map(({ metadata }) => metadata.name)
    assert.deepEqual(
      left.filter((one) => /karpenter|autoscaling/.test(one)),
      [],
    )
  })
})
