import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, type ClusterApiVersion, clusterKind, isSameCluster } from '#api'
import { informerOf } from './projections.ts'

type Loose = AnyObject & { readonly spec: Record<string, unknown>; readonly status: Record<string, unknown> }

const ref = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'CAPTCluster', name: 'demo' }
const spec = {
  paused: true,
  controlPlaneEndpoint: { host: 'demo.test', port: 443 },
  infrastructureRef: ref,
  controlPlaneRef: { ...ref, kind: 'CAPTControlPlane' },
  availabilityGates: [{ conditionType: 'Mood' }],
}
const statuses: Record<ClusterApiVersion, Record<string, unknown>> = {
  v1beta1: { infrastructureReady: true, conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] },
  v1beta2: { initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true }, conditions: [] },
}
const topologies: Record<ClusterApiVersion, Record<string, unknown>> = {
  v1beta1: { class: 'quick', version: 'v1.33.0' },
  v1beta2: { classRef: { name: 'quick' }, version: 'v1.33.0' },
}
const clusterOf = (version: ClusterApiVersion): Loose =>
  ({
    apiVersion: `cluster.x-k8s.io/${version}`,
    kind: 'Cluster',
    metadata: { namespace: 'default', name: 'demo', uid: '1', labels: { a: 'b' }, annotations: { c: 'd' } },
    spec: { ...spec, topology: topologies[version] },
    status: statuses[version],
  }) as unknown as Loose

describe('what a manager keeps of a Cluster', () => {
  for (const version of ['v1beta1', 'v1beta2'] as const) {
    const { project, ignoreUnchanged } = informerOf(clusterKind(version), false)

    it(`is every fact of it in ${version}`, () => {
      const cluster = clusterOf(version)
      assert.ok(isSameCluster(project!(cluster), cluster))
      const { conditions: _none, ...uninitialized } = cluster.status
      const young = { ...cluster, status: { ...uninitialized, initialization: {} } }
      assert.ok(!isSameCluster(project!(young), cluster))
    })

    it(`is not touched by the conditions that core writes in ${version}`, () => {
      const cluster = clusterOf(version)
      const conditions = [...(cluster.status['conditions'] as object[]), { type: 'Available', status: 'False' }]
      const spoken = { ...cluster, status: { ...cluster.status, conditions, phase: 'Provisioned' } }
      assert.equal(ignoreUnchanged, true)
      assert.deepEqual(project!(spoken), project!(cluster))
    })
  }

  it('is what core reads of it, where capt stands in for core', () => {
    const { project, ignoreUnchanged } = informerOf(clusterKind('v1beta2'), true)
    const cluster = clusterOf('v1beta2')
    assert.deepEqual(project!(cluster), cluster)
    assert.notEqual(ignoreUnchanged, true)
  })
})
