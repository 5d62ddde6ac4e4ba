// After a Cluster is deleted the cloud holds nothing of it, or exactly what was reported: with and without add-ons, with
// the workload API alive and dead, with controllers alive and dead. The ledger is the simulated cloud's own, with what
// Terraform made beside it: roles, policies, instance profiles, queues and rules.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AddonPipeline,
  type AnyObject,
  CustomResourceDefinitionKind,
  clusterResourceSetKind,
  DeploymentKind,
  type KindRef,
  NodeKind,
  ServiceKind,
} from '#api'
import { defaultPipeline } from '#controllers'
import { KubeError } from '#kube'
import { simulatedLedger } from '#simulation'
import type { MemoryCluster } from '#testing'
import { type AddonsWorld, addonsWorld, conditionStatus, HOME, REQUEST_LABELS } from '../../support/addons/world.ts'
import { assertEveryKind } from '../../support/teardown/ledger.ts'
import { type WholeCluster, wholeCluster } from '../../support/teardown/whole-cluster.ts'

let world: AddonsWorld
let whole: WholeCluster | undefined
afterEach(async () => {
  const stopping = whole?.stop()
  await world.close()
  await stopping
  whole = undefined
})

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

/** Karpenter makes it for the EC2NodeClass, and deletes it with that one while it lives. */
const PROFILE = 'instance profile default_simulated'

const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const ledger = () => simulatedLedger(world.home.others, key)
const held = () => whole!.held()
const leftovers = () => whole!.reported()

/** A cluster that is ready, with what Terraform made for it. */
async function started(
  options: Parameters<typeof addonsWorld>[0] = {},
  labels: Readonly<Record<string, string>> = REQUEST_LABELS,
): Promise<MemoryCluster> {
  world = await addonsWorld(options)
  whole = await wholeCluster(world, labels)
  await whole.until('ready', isReady)
  assert.ok(whole.made.size > 8, [...whole.made].join())
  return whole.workload
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
  const { addons, pipeline } = options
  const workload = await started(pipeline ? { pipeline } : {}, addons ? REQUEST_LABELS : {})
  const place = addons ? { nodeSelector: { 'karpenter.sh/nodepool': 'default' } } : {}
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
  await ledger().hold({ kind: 'volume', id: 'vol-1' }, { kind: 'network interface', id: 'eni-1' })
  assertEveryKind(await held(), addons ? [] : ['instance'])
  return workload
}

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
      await whole!.remove()
      await whole!.assertLedger(['volume vol-1'])
      assert.deepEqual(order.slice(0, 3).sort(), ['Ingress', 'Service', 'Service'], 'balancers go before nodes')
      assert.equal(order.filter((one) => one === 'NodeClaim').length, addons ? 1 : 0)
    })

    it(`holds what was reported and no balancer, ${which} and the API dead`, async () => {
      await furnished({ addons })
      const machines = (await ledger().list()).map(({ id }) => `instance ${id}`)
      silence()
      await whole!.remove()
      await whole!.assertLedger([...machines, ...(addons ? [PROFILE] : []), 'volume vol-1'])
      assert.ok(
        world.events.some(({ reason, message }) => reason === 'NetworkObjectsDeleted' && /load balancer/.test(message)),
      )
    })

    it(`holds exactly what was reported, ${which}, the API dead and nothing allowed`, async () => {
      await furnished({ addons, pipeline: withTeardown({ deleteLoadBalancers: false }) })
      const before = (await held()).filter((one) => !whole!.made.has(one))
      silence()
      await whole!.remove()
      await whole!.assertLedger(before)
    })
  }

  it('holds only what cannot be deleted, and reports it, when everything is allowed and the API is dead', async () => {
    await furnished({ addons: true, pipeline: withTeardown({ terminateInstances: true }) })
    silence()
    await whole!.remove()
    await whole!.assertLedger([PROFILE, 'volume vol-1'])
  })

  it('holds no balancer of a controller that is dead: they are found by tag', async () => {
    const workload = await furnished({ addons: false })
    await workload.others.delete(DeploymentKind, { namespace: 'kube-system', name: 'aws-load-balancer-controller' })
    await whole!.remove()
    await whole!.assertLedger(['volume vol-1'])
  })

  it('holds exactly what was reported when the cloud refuses to delete', async () => {
    const workload = await started(
      {
        instances: (simulated) => ({ ...simulated, removeNetwork: () => Promise.reject(new Error('AccessDenied')) }),
      },
      {},
    )
    await workload.others.create(ServiceKind, service('classic'))
    await world.until('a balancer is there', async () => (await ledger().objects()).length > 0)
    silence()
    await whole!.remove()
    assert.equal((await held()).length, 3)
    assert.deepEqual(leftovers(), await held())
  })

  it('is not claimed to be empty when balancers cannot be listed', async () => {
    const workload = await started(
      {
        instances: (simulated) => ({ ...simulated, network: () => Promise.reject(new Error('AccessDenied')) }),
      },
      {},
    )
    await workload.others.create(ServiceKind, service('classic'))
    await world.until('a balancer is there', async () => (await ledger().objects()).length > 0)
    silence()
    await whole!.remove()
    assert.deepEqual(leftovers(), ['load balancers that could not be looked for (AccessDenied)'])
  })

  it('holds nothing when the stages are to be kept: nodes and their classes go all the same', async () => {
    const shipped = defaultPipeline(HOME)
    const uninstall = { policy: 'Keep', timeout: '10m' } as const
    const stages = shipped.spec.stages.map((stage) => ({ ...stage, uninstall }))
    const workload = await started({ pipeline: { ...shipped, spec: { ...shipped.spec, stages } } })
    assert.ok((await held()).includes(PROFILE))
    await whole!.remove()
    await whole!.assertLedger([])
    assert.ok(workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), 'the release is kept')
  })

  it('loses no Gateway of a cluster without add-ons', async () => {
    const workload = await started({}, {})
    workload.storage.seed(Gateway, {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'edge', namespace: 'default' },
    } as AnyObject)
    await whole!.remove()
    assert.deepEqual(workload.storage.list(Gateway), [])
    await whole!.assertLedger([])
  })

  it('keeps the balancers of a Cluster that lives when only its AddonDelivery is deleted', async () => {
    const workload = await furnished({ addons: true })
    const network = async () => (await ledger().objects()).filter(({ kind }) => kind !== 'instance profile').length
    const balancers = await network()
    const uid = world.delivery('demo')?.metadata.uid
    // Pods of Karpenter's nodes have nowhere to go, so that a person has to confirm it.
    const body = { metadata: { annotations: { 'capt.appthrust.com/confirm-removal': '*' } } }
    await world.home.others.patch(AddonDelivery, key, { type: 'merge', body })
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
    assert.equal(await network(), balancers)
    assert.ok(workload.peek(ServiceKind, { namespace: 'default', name: 'classic' }))
  })

  it('loses the ClusterResourceSets with its AddonDelivery, and gets everything again with the next one', async () => {
    const workload = await furnished({ addons: true })
    const flux = { namespace: 'flux-system', name: 'source-controller' }
    const setsOf = () => world.home.storage.list(clusterResourceSetKind('v1beta2')).map((set) => set.metadata.uid)
    const [sets, uid] = [setsOf(), world.delivery('demo')?.metadata.uid]
    assert.ok(sets.length > 0)
    const body = { metadata: { annotations: { 'capt.appthrust.com/confirm-removal': '*' } } }
    await world.home.others.patch(AddonDelivery, key, { type: 'merge', body })
    await world.home.others.delete(AddonDelivery, key)
    await world.until('it is gone', () => world.delivery('demo')?.metadata.uid !== uid, 400)
    assert.deepEqual(
      setsOf().filter((set) => sets.includes(set)),
      [],
    )
    await world.until('it is back', isReady, 400)
    assert.ok(workload.peek(DeploymentKind, flux))
  })
})

describe('a teardown with dead controllers', () => {
  it('removes what the release made when helm-controller is dead', async () => {
    const workload = await started()
    await world.stopActors('demo')
    await setAvailable(workload, 'flux-system', 'helm-controller', 0)
    await setAvailable(workload, 'kube-system', 'karpenter', 0)
    await whole!.remove()
    const message = whole!.tornDown()
    assert.equal(workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), undefined, message)
    assert.equal(workload.peek(ServiceAccount, { namespace: 'kube-system', name: 'karpenter' }), undefined)
    assert.equal(message, `Given up with a record: ${PROFILE}`)
    await whole!.assertLedger([PROFILE])
  })

  it('removes pools, claims, nodes and definitions when Karpenter is dead', async () => {
    const workload = await started({ pipeline: withTeardown({ terminateInstances: true }) })
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
    await whole!.remove()
    assert.deepEqual(
      [NodePool, NodeClaim].map((one) => workload.storage.list(one).length),
      [0, 0],
    )
    assert.deepEqual(karpenters(), [])
    assert.equal(workload.peek(CustomResourceDefinitionKind, { name: 'nodepools.karpenter.sh' }), undefined)
    await whole!.assertLedger([PROFILE])
  })

  it('removes every definition that the chart brought, CapacityBuffer too', async () => {
    const workload = await started()
    const name = 'capacitybuffers.autoscaling.x-k8s.io'
    if (!workload.peek(CustomResourceDefinitionKind, { name }))
      workload.storage.seed(CustomResourceDefinitionKind, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name },
      } as AnyObject)
    await whole!.remove()
    const left = workload.storage.list(CustomResourceDefinitionKind).map(({ metadata }) => metadata.name)
    assert.deepEqual(
      left.filter((one) => /karpenter|autoscaling/.test(one)),
      [],
    )
    await whole!.assertLedger([])
  })
})
