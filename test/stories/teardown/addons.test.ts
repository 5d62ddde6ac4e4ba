// The teardown of add-ons, of a deleted Cluster and of a request that is withdrawn. A story that deletes the Cluster goes on
// until it is gone, and holds that the cloud holds exactly what was reported.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  AddonDelivery,
  CustomResourceDefinitionKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  DeploymentKind,
  kindRef,
  PodKind,
  ServiceKind,
} from '#api'
import { defaultPipeline } from '#controllers'
import { KubeError } from '#kube'
import { CaptError } from '#lib'
import { simulatedLedger } from '#simulation'
import type { MemoryCluster } from '#testing'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus, HOME } from '../../support/addons/world.ts'
import { clusterWithNodes, machinesOf, NodeClaim, PROFILE } from '../../support/teardown/karpenter-nodes.ts'
import {
  CONTROL_PLANE_APPLY,
  simulatedCloud,
  type WholeCluster,
  wholeCluster,
} from '../../support/teardown/whole-cluster.ts'

let world: AddonsWorld
let whole: WholeCluster | undefined
afterEach(async () => {
  const stopping = whole?.stop()
  await world.close()
  await stopping
  whole = undefined
})

const key = { namespace: 'default', name: 'demo' }
const HelmRelease = kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease')
const OCIRepository = kindRef('source.toolkit.fluxcd.io/v1', 'OCIRepository')
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const isTornDown = () => conditionStatus(world.delivery('demo'), 'TornDown') === 'True'
/** Everything of the simulated cloud; the runs of Terraform are beside it. */
const cloud = () => simulatedCloud(world.home.others, key)
const machines = () => machinesOf(world)
const leftovers = () => whole!.lastStatus()?.teardown?.leftovers ?? []

async function upWithNodes(replicas = 2): Promise<MemoryCluster> {
  whole = await clusterWithNodes(world, replicas)
  return whole.workload
}

/** Karpenter and Flux stop for good; their objects stay as they are. */
async function killControllers(workload: MemoryCluster): Promise<void> {
  await world.stopActors('demo')
  for (const key of [
    { namespace: 'kube-system', name: 'karpenter' },
    { namespace: 'flux-system', name: 'helm-controller' },
  ])
    await workload.others.patch(
      DeploymentKind,
      key,
      { type: 'merge', body: { status: { availableReplicas: 0 } } },
      { subresource: 'status' },
    )
}

const deleteCluster = () => world.home.others.delete(Cluster, key)
const steps = () =>
  Object.fromEntries((whole!.lastStatus()?.teardown?.steps ?? []).map((step) => [step.name, step.state]))

describe('the teardown of a deleted Cluster', () => {
  it('drains the nodes, then takes Karpenter, its CRDs and Flux away, and leaves no machine behind', async () => {
    world = await addonsWorld()
    const workload = await upWithNodes()
    const order: string[] = []
    workload.storage.onEvent(({ type, kind, object }) => {
      if (type === 'DELETED' && ['NodeClaim', 'HelmRelease'].includes(kind.kind)) order.push(kind.kind)
      if (type === 'DELETED' && object.metadata.name === 'helm-controller' && kind.kind === 'Deployment')
        order.push('Flux')
      if (type === 'DELETED' && object.metadata.name === 'nodepools.karpenter.sh') order.push('CRD')
    })
    whole!.providers.held.add(CONTROL_PLANE_APPLY)
    await deleteCluster()
    await whole!.until('torn down', isTornDown, 120)
    assert.deepEqual(order, ['NodeClaim', 'NodeClaim', 'HelmRelease', 'CRD', 'Flux'])
    assert.deepEqual(await cloud(), [], 'before EKS is destroyed')
    assert.deepEqual(
      Object.values(steps()).filter((state) => state !== 'Done'),
      [],
    )
    assert.ok(world.delivery('demo'), 'the delivery stays until the Cluster itself is gone')

    whole!.providers.held.clear()
    await whole!.gone()
    await whole!.assertLedger([])
    await world.until('nothing of it is left', () => world.delivery('demo') === undefined)
    await world.until('sets are gone', () => world.home.storage.list(clusterResourceSetKind('v1beta2')).length === 0)
    assert.deepEqual(world.home.storage.list(clusterResourceSetBindingKind('v1beta2')), [])
  })

  it('gives load balancers back before the network goes', async () => {
    world = await addonsWorld()
    const workload = await upWithNodes(1)
    await workload.others.create(ServiceKind, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'public', namespace: 'default' },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] },
    } as never)
    const balancers = async () => (await cloud()).filter((text) => text.startsWith('load balancer '))
    await world.until('a balancer is there', async () => (await balancers()).length === 1)
    await whole!.remove()
    assert.equal(workload.peek(ServiceKind, { namespace: 'default', name: 'public' }), undefined)
    await whole!.assertLedger([])
  })

  it('ends with a dead Karpenter: machines are found by tag and listed, finalizers are taken off', async () => {
    world = await addonsWorld()
    const workload = await upWithNodes()
    await killControllers(workload)
    const running = await machines()
    assert.equal(running.length, 2)
    await whole!.remove()
    assert.deepEqual(workload.storage.list(NodeClaim), [])
    await whole!.assertLedger([...running, PROFILE])
  })

  it('terminates what a dead Karpenter left when that is allowed', async () => {
    const shipped = defaultPipeline(HOME)
    world = await addonsWorld({
      pipeline: {
        ...shipped,
        spec: { ...shipped.spec, teardown: { terminateInstances: true, deleteLoadBalancers: true, timeout: '15m' } },
      },
    })
    await killControllers(await upWithNodes())
    await whole!.remove()
    await whole!.assertLedger([PROFILE])
  })

  describe('by a cloud that refuses', () => {
    const refusal = new CaptError('CAPT_AWS_ACCESS_DENIED', 'ec2:DescribeInstances was refused: UnauthorizedOperation')
    const silence = () => world.broken.set('default/demo', new KubeError('Unreachable', 'connect ECONNREFUSED'))

    it('to list machines: it says so, looks again, and ends with that on record', async () => {
      world = await addonsWorld({ instances: (simulated) => ({ ...simulated, list: () => Promise.reject(refusal) }) })
      await upWithNodes(1)
      const running = await machines()
      silence()
      await deleteCluster()
      await whole!.until(
        'it is said',
        () => world.delivery('demo')?.status?.conditions?.some(({ reason }) => reason === 'InstancesUnknown'),
        400,
      )
      await whole!.gone()
      assert.deepEqual(await whole!.held(), [...running, PROFILE].sort())
      assert.deepEqual(whole!.reported(), [PROFILE, `instances that could not be looked for (${refusal.message})`])
    })

    it('to list machines for a while: they are found as soon as it lets us look', async () => {
      let refused = 0
      world = await addonsWorld({
        instances: (simulated) => ({
          ...simulated,
          list: (cluster) => (++refused <= 3 ? Promise.reject(refusal) : simulated.list(cluster)),
        }),
      })
      await upWithNodes(1)
      const running = await machines()
      silence()
      await whole!.remove()
      await whole!.assertLedger([...running, PROFILE])
    })

    for (const [what, breakIt] of [
      ['with the workload API gone', async () => void silence()],
      ['with Karpenter dead', killControllers],
    ] as const)
      it(`to terminate machines: they are listed, and the teardown ends, ${what}`, async () => {
        const shipped = defaultPipeline(HOME)
        world = await addonsWorld({
          pipeline: {
            ...shipped,
            spec: {
              ...shipped.spec,
              teardown: { terminateInstances: true, deleteLoadBalancers: true, timeout: '15m' },
            },
          },
          instances: (simulated) => ({ ...simulated, terminate: () => Promise.reject(refusal) }),
        })
        await breakIt(await upWithNodes(1))
        const running = await machines()
        await whole!.remove(2400)
        await whole!.assertLedger([...running, PROFILE])
      })
  })

  it('names the disks that stay behind, and deletes none', async () => {
    world = await addonsWorld()
    await killControllers(await upWithNodes(1))
    const running = await machines()
    const volumes = ['vol-2', 'vol-1'].map((id) => ({ kind: 'volume', id }) as const)
    await simulatedLedger(world.home.others, key).hold(...volumes)
    await whole!.remove()
    assert.deepEqual(
      leftovers().filter((text) => text.startsWith('volume')),
      ['volume vol-1', 'volume vol-2'],
    )
    await whole!.assertLedger([...running, PROFILE, 'volume vol-1', 'volume vol-2'])
  })

  it('ends when the workload API is gone, and lists exactly the machines that are left', async () => {
    world = await addonsWorld()
    await upWithNodes()
    const running = await machines()
    world.broken.set('default/demo', new KubeError('Unreachable', 'connect ECONNREFUSED'))
    await deleteCluster()
    await whole!.until('it is seen', () =>
      world.delivery('demo')?.status?.conditions?.some((condition) => condition.reason === 'WorkloadUnreachable'),
    )
    await whole!.gone(400)
    await whole!.assertLedger([...running, PROFILE])
  })

  it('ends at once when nothing was ever installed', async () => {
    world = await addonsWorld()
    whole = await wholeCluster(world, {})
    await whole.until('ready', isReady)
    await whole.remove(5)
    assert.equal(whole.lastStatus()?.conditions?.find(({ type }) => type === 'TornDown')?.status, 'True')
    await whole.assertLedger([])
  })

  it('gives up on nodes that do not go, with their names, and still ends', async () => {
    world = await addonsWorld()
    const workload = await upWithNodes(1)
    await world.stopActors('demo')
    const running = await machines()
    await whole!.remove(3600)
    assert.equal(steps()['karpenter/node-claims'] ?? steps()['node-pool/node-claims'], 'GaveUp')
    const [claim] = workload.storage.list(NodeClaim)
    await whole!.assertLedger(
      [...running, PROFILE],
      [
        'EC2NodeClass default',
        'HelmRelease kube-system/karpenter',
        `NodeClaim ${claim?.metadata.name}`,
        'OCIRepository flux-system/capt-probe',
        'OCIRepository kube-system/karpenter',
      ],
    )
    assert.equal(
      workload.storage.list(NodeClaim)[0]?.metadata.finalizers?.[0],
      'karpenter.sh/termination',
      'a live controller is not robbed of its finalizer',
    )
  })
})

const confirm = async (stages: string) => {
  const body = { metadata: { annotations: { 'capt.appthrust.com/confirm-removal': stages } } }
  await world.home.others.patch(AddonDelivery, key, { type: 'merge', body })
}

describe('a request that is withdrawn', () => {
  it('is held, with the pods that have nowhere to go, until a person confirms it or asks for the add-on again', async () => {
    world = await addonsWorld()
    const workload = await upWithNodes(1)
    const label = async (value: string | null) => {
      const body = { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': value } } }
      await world.home.others.patch(Cluster, key, { type: 'merge', body })
    }
    const stop = () => world.delivery('demo')?.status?.conditions?.find(({ type }) => type === 'Stalled')
    await label(null)
    await world.until('it is held', () => stop()?.reason === 'RemovalUnconfirmed')
    await world.idle(120)
    const pods = workload.storage.list(PodKind).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    assert.ok(
      pods.some((pod) => stop()?.message.includes(pod)),
      stop()?.message,
    )
    assert.equal(workload.storage.list(HelmRelease).length, 1)
    assert.equal(workload.storage.list(NodeClaim).length, 1)
    assert.ok(
      world.home.storage
        .list(clusterResourceSetKind('v1beta2'))
        .some(({ metadata }) => metadata.name === 'karpenter-installer-demo'),
    )
    await label('enabled')
    await world.until('it is kept', isReady)
    await confirm('karpenter,node-pool')
    await label(null)
    await world.until('Karpenter is gone', () => world.stage('demo', 'karpenter')?.state === 'NotWanted', 200)
    const { annotations = {} } = world.delivery('demo')!.metadata
    assert.ok(!('capt.appthrust.com/confirm-removal' in annotations), 'it holds for one removal')
  })

  it('uninstalls Karpenter in the order of the teardown, keeps Flux, closes the gate, and can come back', async () => {
    world = await addonsWorld()
    const workload = await upWithNodes(1)
    await confirm('*')
    await world.home.others.patch(Cluster, key, {
      type: 'merge',
      body: { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': null } } },
    })
    await world.until(
      'Karpenter is gone',
      () =>
        world.stage('demo', 'karpenter')?.state === 'NotWanted' &&
        world.stage('demo', 'node-pool')?.state === 'NotWanted',
      200,
    )
    assert.equal(workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), undefined)
    assert.equal(workload.peek(CustomResourceDefinitionKind, { name: 'nodepools.karpenter.sh' }), undefined)
    assert.deepEqual(workload.storage.list(HelmRelease), [])
    assert.deepEqual(await cloud(), [])
    await world.until('settled', isReady)
    assert.equal(world.stage('demo', 'flux')?.state, 'Healthy')
    const labels = world.home.peek(Cluster, key)?.metadata.labels ?? {}
    assert.equal(labels['karpenter.sh/enabled'], undefined)

    await world.home.others.patch(Cluster, key, {
      type: 'merge',
      body: { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': 'enabled' } } },
    })
    await world.until('Karpenter is back', () => world.stage('demo', 'node-pool')?.state === 'Healthy', 120)
  })

  it('leaves no source behind that only the earlier request needed: the CRDs of Flux would wait for it', async () => {
    world = await addonsWorld()
    const workload = await upWithNodes(1)
    await confirm('*')
    await world.home.others.patch(Cluster, key, {
      type: 'merge',
      body: { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': null } } },
    })
    await world.until('Karpenter is gone', () => world.stage('demo', 'karpenter')?.state === 'NotWanted', 200)
    await whole!.remove()
    assert.deepEqual(workload.storage.list(OCIRepository), [])
    assert.equal(steps()['flux/objects'], 'Done')
    await whole!.assertLedger([])
  })

  it('keeps a Flux that other releases still need, and says which', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { labels: { 'fluxcd.io/enabled': 'true' } })
    await world.until('ready', isReady)
    await workload.others.create(HelmRelease, {
      apiVersion: 'helm.toolkit.fluxcd.io/v2',
      kind: 'HelmRelease',
      metadata: { name: 'podinfo', namespace: 'default' },
      spec: {},
    } as never)
    await world.home.others.patch(Cluster, key, {
      type: 'merge',
      body: { metadata: { labels: { 'fluxcd.io/enabled': null } } },
    })
    await world.until('it is said', () =>
      JSON.stringify(world.delivery('demo')?.status?.conditions).includes('HelmRelease default/podinfo'),
    )
    await world.idle(5)
    assert.ok(workload.peek(DeploymentKind, { namespace: 'flux-system', name: 'helm-controller' }))
  })

  it('leaves everything in place when the delivery is deleted for a move', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { labels: { 'fluxcd.io/enabled': 'true' } })
    await world.until('ready', isReady)
    const body = { metadata: { annotations: { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' } } }
    await world.home.others.patch(AddonDelivery, key, { type: 'merge', body })
    const uid = world.delivery('demo')?.metadata.uid
    await world.home.others.delete(AddonDelivery, key)
    await world.until('it is gone', () => world.delivery('demo')?.metadata.uid !== uid)
    assert.ok(workload.peek(DeploymentKind, { namespace: 'flux-system', name: 'helm-controller' }))
  })

  it('leaves in the workload what is to be kept, and lets go of it', async () => {
    const shipped = defaultPipeline(HOME)
    const stages = shipped.spec.stages.map((stage) => ({
      ...stage,
      uninstall: { policy: 'Keep' as const, timeout: '10m' },
    }))
    world = await addonsWorld({ pipeline: { ...shipped, spec: { ...shipped.spec, stages } } })
    const workload = await upWithNodes(1)
    const body = { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': null } } }
    await world.home.others.patch(Cluster, key, { type: 'merge', body })
    await world.until('it is let go', () => world.stage('demo', 'karpenter')?.state === 'NotWanted')
    assert.equal(workload.storage.list(HelmRelease).length, 1)
    const sets = world.home.storage.list(clusterResourceSetKind('v1beta2')).map((set) => set.metadata.name)
    assert.deepEqual(
      sets.filter((name) => !name.startsWith('fluxcd-')),
      [],
    )
  })
})
