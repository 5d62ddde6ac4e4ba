import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, BLOCK_MOVE_ANNOTATION, clusterKind, isSameCluster } from '#api'
import type { Projected } from '#kube'
import { captClusterController } from '../cluster/index.ts'
import { isSameApply } from './apply.ts'

type Loose = { readonly [field: string]: unknown }
const aCluster = (metadata: Loose = {}, spec: Loose = {}, status: Loose = {}): AnyObject =>
  ({
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { namespace: 'default', name: 'shop', uid: 'u', ...metadata },
    spec,
    status,
  }) as AnyObject
const anApply = (metadata: Loose = {}, status: Loose = {}): AnyObject =>
  ({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'WorkspaceTemplateApply',
    metadata: { namespace: 'default', name: 'shop-vpc', generation: 1, ...metadata },
    spec: {},
    status,
  }) as AnyObject
const condition = (type: string, status: string) => ({ type, status, reason: 'Any', message: '' })

describe('a change of a Cluster', () => {
  it('is none to us when core only writes down how far it is', () => {
    const now = aCluster(
      { resourceVersion: '2' },
      {},
      { phase: 'Provisioned', conditions: [condition('Available', 'True')] },
    )
    assert.ok(isSameCluster(now, aCluster({ resourceVersion: '1' })))
  })

  for (const [what, now] of [
    ['a pause', aCluster({}, { paused: true })],
    ['a label', aCluster({ labels: { 'fluxcd.io/enabled': 'true' } })],
    ['an annotation', aCluster({ annotations: { 'cluster.x-k8s.io/region': 'eu-west-1' } })],
    ['its deletion', aCluster({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['provisioned infrastructure', aCluster({}, {}, { initialization: { infrastructureProvisioned: true } })],
    ['another control plane', aCluster({}, { controlPlaneRef: { apiGroup: 'g', kind: 'K', name: 'n' } })],
  ] as const)
    it(`counts when it is ${what}`, () => assert.ok(!isSameCluster(now, aCluster())))
})

describe('the network of a Cluster', () => {
  const Cluster = clusterKind('v1beta2')
  const wake = captClusterController({ clusterKind: Cluster }).wakes.find(({ kind }) => kind === Cluster)!
  const ignores = (now: AnyObject, before: AnyObject) =>
    wake.ignores!(now as Projected<AnyObject>, before as Projected<AnyObject>)

  for (const [what, now] of [
    ['its own readiness comes back', aCluster({}, {}, { initialization: { infrastructureProvisioned: true } })],
    ['the control plane gets its endpoint', aCluster({}, { controlPlaneEndpoint: { host: 'h', port: 443 } })],
    ['the control plane answers', aCluster({}, {}, { initialization: { controlPlaneInitialized: true } })],
    ['somebody labels it', aCluster({ labels: { team: 'a' } })],
  ] as const)
    it(`is not looked at when ${what}`, () => assert.ok(ignores(now, aCluster())))

  for (const [what, now] of [
    ['the Cluster is paused', aCluster({}, { paused: true })],
    ['the Cluster is deleted', aCluster({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['the Cluster was recreated', aCluster({ uid: 'v' })],
    ['the Cluster refers to it', aCluster({}, { infrastructureRef: { apiGroup: 'g', kind: 'K', name: 'n' } })],
  ] as const)
    it(`is looked at when ${what}`, () => assert.ok(!ignores(now, aCluster())))
})

describe('a change of an apply', () => {
  it('is none to its owner when its run makes a step or it may be moved again', () => {
    const running = { run: { id: 'a', phase: 'Apply', progress: '1 of 3' } }
    assert.ok(isSameApply(anApply({}, { run: { ...running.run, progress: '2 of 3' } }), anApply({}, running)))
    assert.ok(isSameApply(anApply(), anApply({ annotations: { [BLOCK_MOVE_ANNOTATION]: 'true' } })))
  })

  for (const [what, now] of [
    ['another request', anApply({ generation: 2 })],
    ['its deletion', anApply({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['another owner', anApply({ ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: 'x' }] })],
    ['the end of its run', anApply({}, { conditions: [condition('Ready', 'True')], appliedHash: 'h' })],
    ['another run of the same inputs', anApply({}, { lastAppliedTime: '2026-01-01T00:00:00Z' })],
    ['outputs', anApply({}, { outputs: { vpc_id: 'vpc-1' } })],
    ['a fault', anApply({}, { lastError: { kind: 'user', message: 'no' } })],
  ] as const)
    it(`counts when it is ${what}`, () => assert.ok(!isSameApply(now, anApply())))
})
