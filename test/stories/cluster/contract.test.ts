// A Cluster means the same in both of its API versions, and the questions of the contract have one answer.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  type AnyObject,
  clusterKeyOf,
  clusterOwnerOf,
  compileSchema,
  isDeletedForMove,
  isExternallyManaged,
  pauseOf,
  readCluster,
  schemaFaults,
} from '#api'
import { clusterDefinition, convertCluster } from '#core'
import type { Json } from '#lib'

const v1beta2 = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default', uid: 'u1', labels: { a: 'b' } },
  spec: {
    paused: true,
    clusterNetwork: { pods: { cidrBlocks: ['10.0.0.0/16'] } },
    controlPlaneEndpoint: { host: 'demo.test', port: 443 },
    infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'CAPTCluster', name: 'demo-1' },
    controlPlaneRef: { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'CAPTControlPlane', name: 'demo-2' },
  },
  status: {
    phase: 'Provisioned',
    observedGeneration: 3,
    initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true },
    controlPlane: { versions: [{ version: 'v1.34.0' }] },
    conditions: [
      {
        type: 'Available',
        status: 'False',
        reason: 'NotAvailable',
        message: 'no',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'InfrastructureReady',
        status: 'True',
        reason: 'Ready',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'ControlPlaneInitialized',
        status: 'True',
        reason: 'Initialized',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
}

describe('a Cluster in two versions', () => {
  it('reads as the same facts', () => {
    const old = convertCluster(v1beta2 as AnyObject, 'v1beta1')
    assert.deepEqual(readCluster(old), readCluster(v1beta2 as AnyObject))
  })

  it('has the fields of v1beta1 where its readers look', () => {
    assert.partialDeepStrictEqual(convertCluster(v1beta2 as AnyObject, 'v1beta1'), {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      spec: {
        infrastructureRef: {
          apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
          kind: 'CAPTCluster',
          name: 'demo-1',
          namespace: 'default',
        },
      },
      status: {
        infrastructureReady: true,
        controlPlaneReady: true,
        conditions: [
          { type: 'Ready', status: 'False', severity: 'Info', reason: 'NotAvailable', message: 'no' },
          { type: 'InfrastructureReady', status: 'True' },
          { type: 'ControlPlaneInitialized', status: 'True' },
        ],
      },
    })
  })

  it('comes back as it was', () => {
    assert.deepEqual(convertCluster(convertCluster(v1beta2 as AnyObject, 'v1beta1'), 'v1beta2'), v1beta2)
  })

  it('comes back as it was, whatever is set', () => {
    const ref = fc.record({
      apiGroup: fc.constantFrom('a.x', 'b.y'),
      kind: fc.constantFrom('A', 'B'),
      name: fc.constantFrom('n', 'm'),
    })
    const condition = fc.record({
      type: fc.constantFrom('Available', 'InfrastructureReady', 'Paused'),
      status: fc.constantFrom('True', 'False'),
      reason: fc.constant('R'),
      message: fc.constant('m'),
      lastTransitionTime: fc.constant('2026-01-01T00:00:00Z'),
    })
    const spec = fc.record({ paused: fc.boolean(), infrastructureRef: ref, controlPlaneRef: ref }, { requiredKeys: [] })
    const status = fc.record(
      {
        phase: fc.constant('Pending'),
        initialization: fc.record(
          { infrastructureProvisioned: fc.constant(true), controlPlaneInitialized: fc.constant(true) },
          { requiredKeys: ['infrastructureProvisioned'] },
        ),
        conditions: fc.uniqueArray(condition, { selector: ({ type }) => type, minLength: 1 }),
      },
      { requiredKeys: ['conditions'] },
    )
    fc.assert(
      fc.property(spec, fc.option(status, { nil: undefined }), (wanted, found) => {
        const drawn = {
          apiVersion: 'cluster.x-k8s.io/v1beta2',
          kind: 'Cluster',
          metadata: { name: 'x', namespace: 'y' },
          spec: wanted,
          ...(found ? { status: found } : {}),
        }
        const cluster = JSON.parse(JSON.stringify(drawn)) as AnyObject
        assert.deepEqual(convertCluster(convertCluster(cluster, 'v1beta1'), 'v1beta2'), cluster)
      }),
      { numRuns: 200 },
    )
  })

  it('has a structural schema in both, which refuses what only core can do', () => {
    const { versions } = clusterDefinition().spec as {
      versions: { name: string; schema: { openAPIV3Schema: object } }[]
    }
    for (const { name, schema } of versions) {
      assert.deepEqual(schemaFaults(schema.openAPIV3Schema), [], name)
      const compiled = compileSchema(schema.openAPIV3Schema)
      const object = convertCluster(v1beta2 as AnyObject, name as 'v1beta1') as unknown as Json
      assert.deepEqual(compiled.prune(object).unknown, [], name)
      assert.deepEqual(compiled.validate(object), [], name)
      const topology = compiled.validate({ ...(object as object), spec: { topology: { class: 'x' } } } as Json)
      assert.match(topology[0]?.message ?? '', /needs core Cluster API/)
    }
  })
})

describe('the questions of the contract', () => {
  const object = (metadata: Partial<AnyObject['metadata']>): AnyObject => ({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'CAPTCluster',
    metadata: { name: 'demo-x', namespace: 'default', ...metadata },
  })
  const owner = (over: object) => ({
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Cluster',
    name: 'demo',
    uid: 'u',
    ...over,
  })

  it('find the owner by its reference in any version, never by its name', () => {
    const owned = object({ ownerReferences: [owner({ apiVersion: 'v1', kind: 'Secret' }), owner({})] })
    assert.deepEqual(clusterKeyOf(owned), { namespace: 'default', name: 'demo' })
    assert.equal(clusterOwnerOf(object({ ownerReferences: [owner({ apiVersion: 'other.io/v1' })] })), undefined)
  })

  it('say what paused an object', () => {
    const cluster = readCluster(v1beta2 as AnyObject)
    assert.equal(pauseOf({ ...cluster, paused: false }, object({})), undefined)
    assert.match(pauseOf(cluster, object({})) ?? '', /Cluster spec\.paused/)
    assert.match(pauseOf(undefined, object({ annotations: { 'cluster.x-k8s.io/paused': '' } })) ?? '', /annotation/)
  })

  it('know an object that somebody else manages, and one that moved', () => {
    assert.ok(isExternallyManaged(object({ annotations: { 'cluster.x-k8s.io/managed-by': '' } })))
    assert.ok(isDeletedForMove(object({ annotations: { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' } })))
    assert.ok(!isDeletedForMove(object({})))
  })

  it('read an unset endpoint of v1beta1 as none', () => {
    const cluster = {
      ...v1beta2,
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      spec: { controlPlaneEndpoint: { host: '', port: 0 } },
    }
    assert.equal(readCluster(cluster as AnyObject).endpoint, undefined)
    const back = convertCluster(cluster as AnyObject, 'v1beta2') as unknown as { spec: object }
    assert.deepEqual(back.spec, {})
  })
})
