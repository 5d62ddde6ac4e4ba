import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, BLOCK_MOVE_ANNOTATION, isSameCluster } from '#api'
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

describe('a change of an apply', () => {
  it('is none to its owner when its run makes a step or it may be moved again', () => {
    const running = { run: { id: 'a', phase: 'Apply', progress: '1 of 3' } }
    assert.ok(isSameApply(anApply({}, { run: { ...running.run, progress: '2 of 3' } }), anApply({}, running)))
    assert.ok(isSameApply(anApply(), anApply({ annotations: { [BLOCK_MOVE_ANNOTATION]: 'true' } })))
  })

  for (const [what, now] of [
    ['another wish', anApply({ generation: 2 })],
    ['its deletion', anApply({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['another owner', anApply({ ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: 'x' }] })],
    ['the end of its run', anApply({}, { conditions: [condition('Ready', 'True')], appliedHash: 'h' })],
    ['another run of the same inputs', anApply({}, { lastAppliedTime: '2026-01-01T00:00:00Z' })],
    ['outputs', anApply({}, { outputs: { vpc_id: 'vpc-1' } })],
    ['a fault', anApply({}, { lastError: { kind: 'user', message: 'no' } })],
  ] as const)
    it(`counts when it is ${what}`, () => assert.ok(!isSameApply(now, anApply())))
})
