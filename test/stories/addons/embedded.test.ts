import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AnyObject,
  type ConfigMap,
  ConfigMapKind,
  clusterKind,
  clusterResourceSetKind,
  DeploymentKind,
  isTrue,
  type KindRef,
  kindRef,
  NodeKind,
  PodKind,
  SecretKind,
} from '#api'
import { simulatedLedger } from '#simulation'
import { type EmbeddedWorld, embeddedWorld } from '../../support/addons/embedded.ts'
import { outputsFor, REQUEST_LABELS } from '../../support/addons/world.ts'
import { simulatedCloud } from '../../support/teardown/whole-cluster.ts'

const Cluster = clusterKind('v1beta2')
const key = { namespace: 'default', name: 'demo' }
const HelmRelease = kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease')
const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web', resources: { requests: { cpu: '1500m' } } }] },
    },
  },
}

async function listed(objects: EmbeddedWorld['objects'], kind: KindRef): Promise<AnyObject[]> {
  const found: AnyObject[] = []
  for await (const one of objects.list(kind)) found.push(one)
  return found
}

describe('add-ons over the embedded API', { concurrency: false }, () => {
  let world: EmbeddedWorld
  before(async () => {
    world = await embeddedWorld()
  })
  after(async () => await world.close())
  const isReady = async () => {
    const delivery = await world.delivery('demo')
    return delivery !== undefined && isTrue(delivery, 'Ready')
  }

  it('delivers Flux, Karpenter and a node pool, in this order by the request log of the workload', async () => {
    await world.addCluster('demo', REQUEST_LABELS, outputsFor('demo'))
    await world.until('ready', isReady)
    const writes = world.requests.filter(
      ({ method, path }) => method !== 'GET' && path.startsWith('/workloads/default/demo/'),
    )
    const available = writes.findLastIndex(
      ({ path }) => /deployments\/(source|helm)-controller\/status/.test(path) && !/karpenter/.test(path),
    )
    const karpenter = writes.findIndex(({ path }) =>
      /namespaces\/kube-system\/(ocirepositories|helmreleases)/.test(path),
    )
    assert.ok(available >= 0 && karpenter > 0, 'the log must show both')
    const beforeKarpenter = writes
      .slice(0, karpenter)
      .filter(({ path }) => /deployments\/helm-controller\/status/.test(path))
    assert.ok(beforeKarpenter.length > 0, 'Flux reported its state before Karpenter was written')
  })

  it('gives a pending pod a node, which says that it is simulated', async () => {
    const workload = await world.workload('demo')
    await workload.create(DeploymentKind, web as AnyObject)
    await world.until('the pod runs', async () =>
      (await listed(workload, PodKind)).some((pod) => pod.metadata.labels?.['app'] === 'web' && isTrue(pod, 'Ready')),
    )
    const made = (await listed(workload, NodeKind)).filter(
      (node) => node.metadata.labels?.['karpenter.sh/nodepool'] === 'default',
    )
    assert.equal(made.length, 1)
    assert.equal(made[0]?.metadata.labels?.['capt.appthrust.com/simulated'], 'true')
    assert.equal((await simulatedLedger(world.objects, key).list()).length, 1)
  })

  it('is all there after a restart, and goes on', async () => {
    await world.restart()
    await world.until('ready again', isReady)
    const workload = await world.workload('demo')
    await workload.delete(DeploymentKind, { namespace: 'default', name: 'web' })
    await world.until('actors play again', async () =>
      (await listed(workload, PodKind)).every((pod) => pod.metadata.labels?.['app'] !== 'web'),
    )
    assert.equal((await listed(workload, HelmRelease)).length, 1)
  })

  it('follows a pipeline of its own when the example asks for one', async () => {
    await world.apply('addons-pipeline.yaml')
    await world.addCluster(
      'blue',
      { ...REQUEST_LABELS, 'capt.appthrust.com/addon-pipeline': 'team' },
      outputsFor('blue'),
    )
    const key = { namespace: 'default', name: 'blue.team' }
    const delivery = async () => await world.objects.get<AddonDelivery>(AddonDelivery, key)
    await world.until(
      'three stages are healthy',
      async () => (await delivery())?.status?.stages?.filter((stage) => stage.state === 'Healthy').length === 3,
    )
    const about = await (await world.workload('blue')).get<ConfigMap>(ConfigMapKind, {
      namespace: 'default',
      name: 'about',
    })
    assert.deepEqual(about?.data, { cluster: 'blue', team: 'blue', endpoint: 'https://blue.example.invalid' })
    const waits = (await delivery())?.status?.stages?.find((stage) => stage.name === 'defaults')
    assert.equal(waits?.message, 'ConfigMap about: data.cluster is blue, not demo')
  })

  it('ends well with the manifests of older proposals, and no variable is left in the workload', async () => {
    const notes = await world.apply('addons-older-proposals.yaml')
    assert.ok(notes.length >= 5, notes.join('\n'))
    await world.addCluster(
      'older',
      { 'fluxcd.io/enabled': 'true', 'karpenter.sh/enabled': 'true' },
      outputsFor('older'),
    )
    await world.until('ready', async () => isTrue((await world.delivery('older')) ?? ({} as AnyObject), 'Ready'))
    const workload = await world.workload('older')
    const everything = JSON.stringify([
      await listed(workload, HelmRelease),
      await listed(workload, DeploymentKind),
      await listed(workload, ConfigMapKind),
    ])
    assert.ok(everything.includes('Karpenter-older'))
    assert.ok(!everything.includes('${'))
  })

  it('is taken away with the Cluster, down to the workload API itself', async () => {
    await world.objects.delete(Cluster, key)
    await world.until(
      'torn down',
      async () => {
        const delivery = await world.delivery('demo')
        return delivery !== undefined && isTrue(delivery, 'TornDown')
      },
      90,
    )
    assert.deepEqual(await simulatedCloud(world.objects, key), [])
    await world.objects.patch(Cluster, key, { type: 'merge', body: { metadata: { finalizers: null } } })
    await world.until('the delivery is gone', async () => (await world.delivery('demo')) === undefined)
    await world.until(
      'the workload API is gone',
      async () => !world.server.realms().includes('/workloads/default/demo'),
    )
    await world.until(
      'sets and secrets are gone',
      async () =>
        (await listed(world.objects, clusterResourceSetKind('v1beta2'))).every(
          (set) => !set.metadata.name.endsWith('-demo'),
        ) &&
        (await world.objects.get(SecretKind, { namespace: 'default', name: 'demo-simulated-workload' })) === undefined,
    )
  })
})
