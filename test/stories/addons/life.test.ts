import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { DeploymentKind, NodeKind, PodKind } from '#api'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

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

describe('a cluster that asks for Karpenter', () => {
  it('gets Flux, then the gate, then Karpenter, then a node pool, and a node for a pending pod', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('Flux is healthy', () => world.stage('demo', 'flux')?.state === 'Healthy')
    await world.until('everything is ready', () => conditionStatus(world.delivery('demo'), 'Ready') === 'True')
    assert.equal(
      world.home.peek(Cluster, { namespace: 'default', name: 'demo' })?.metadata.labels?.['karpenter.sh/enabled'],
      'true',
    )
    assert.ok(workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }))

    await workload.others.create(DeploymentKind, web)
    await world.until('the pod runs', () =>
      workload.storage
        .list(PodKind)
        .some((pod) => pod.metadata.labels?.['app'] === 'web' && conditionStatus(pod, 'Ready') === 'True'),
    )
    const made = workload.storage
      .list(NodeKind)
      .filter((node) => node.metadata.labels?.['karpenter.sh/nodepool'] === 'default')
    assert.equal(made.length, 1)
  })
})
