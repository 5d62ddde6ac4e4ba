import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, CAPTBootstrapConfig, CAPTMachinePool, type Kind, readCluster, readMachinePool } from '#api'
import type { Projected } from '#kube'
import type { Part } from '../referenced-objects.ts'
import { convertMachinePool } from './convert.ts'
import { decideMachinePool, MACHINE_POOL_CORE_FINALIZER, type Observed } from './decide.ts'
import { statusOfMachinePool } from './status.ts'

const LABELS = { 'cluster.x-k8s.io/cluster-name': 'demo' }
const cluster = (spec: object = {}) =>
  ({
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name: 'demo', namespace: 'default', uid: 'c' },
    spec,
  }) as unknown as Projected<AnyObject>
const owner = (kind: string, uid: string) => ({ apiVersion: 'cluster.x-k8s.io/v1beta2', kind, name: 'x', uid })

function pool(metadata: object = {}, bootstrap: object = {}): Projected<AnyObject> {
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'MachinePool',
    metadata: {
      name: 'workers',
      namespace: 'default',
      uid: 'p',
      generation: 3,
      labels: LABELS,
      finalizers: [MACHINE_POOL_CORE_FINALIZER],
      ownerReferences: [owner('Cluster', 'c')],
      ...metadata,
    },
    spec: {
      clusterName: 'demo',
      replicas: 2,
      template: {
        spec: {
          clusterName: 'demo',
          bootstrap: {
            configRef: { apiGroup: 'bootstrap.cluster.x-k8s.io', kind: 'CAPTBootstrapConfig', name: 'workers' },
            ...bootstrap,
          },
          infrastructureRef: {
            apiGroup: 'infrastructure.cluster.x-k8s.io',
            kind: 'CAPTMachinePool',
            name: 'workers',
          },
        },
      },
    },
  } as unknown as Projected<AnyObject>
}

function part(kind: Kind, status: object | undefined, metadata: object = {}): Part {
  const object = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name: 'workers',
      namespace: 'default',
      labels: LABELS,
      ownerReferences: [owner('MachinePool', 'p')],
      ...metadata,
    },
    status,
  } as unknown as Projected<AnyObject>
  return { ref: { group: kind.group, kind: kind.kind, name: 'workers' }, kind, object }
}

function observed(more: Partial<Observed> = {}, object = pool()): Observed {
  const found = more.cluster ?? cluster()
  return {
    object,
    facts: readMachinePool(object),
    cluster: found,
    clusterFacts: readCluster(found),
    infrastructure: part(CAPTMachinePool, { ready: true, replicas: 2, readyReplicas: 2 }),
    bootstrap: part(CAPTBootstrapConfig, { ready: true, dataSecretName: 'workers' }),
    ...more,
  }
}

const going = { deletionTimestamp: '2026-01-01T00:00:00Z' }

describe('the stand-in for MachinePool', () => {
  const withData = pool({}, { dataSecretName: 'workers' })
  const rows: readonly [string, Observed, string][] = [
    ['takes its finalizer first', observed({}, pool({ finalizers: [] })), 'add-finalizer'],
    ['belongs to its Cluster', observed({}, pool({ ownerReferences: [] })), 'adopt'],
    [
      'claims the objects it refers to',
      observed({ infrastructure: part(CAPTMachinePool, {}, { ownerReferences: [] }) }),
      'claim',
    ],
    ['takes over the name of the bootstrap Secret', observed(), 'set-data-secret'],
    ['is done then', observed({}, withData), 'done'],
    ['does nothing while paused', observed({ cluster: cluster({ paused: true }) }, pool({ finalizers: [] })), 'done'],
    ['deletes its node group first', observed({}, pool(going)), 'delete CAPTMachinePool'],
    [
      'waits until that is gone',
      observed({ infrastructure: part(CAPTMachinePool, {}, going) }, pool(going)),
      'waiting Deleting',
    ],
    [
      'deletes its bootstrap data then',
      observed({ infrastructure: undefined }, pool(going)),
      'delete CAPTBootstrapConfig',
    ],
    ['goes last', observed({ infrastructure: undefined, bootstrap: undefined }, pool(going)), 'remove-finalizer'],
  ]
  for (const [what, seen, expected] of rows)
    it(what, () => {
      const decision = decideMachinePool(seen)
      const words =
        decision.is === 'act'
          ? decision.actions.map((action) => (action.do === 'delete' ? `delete ${action.part.ref.kind}` : action.do))
          : [decision.is === 'waiting' ? `waiting ${decision.reason}` : decision.is]
      assert.equal(words.join(' '), expected)
    })

  for (const [status, phase, available] of [
    [undefined, 'Provisioning', 'False'],
    [{ ready: true, replicas: 1, readyReplicas: 1 }, 'ScalingUp', 'False'],
    [{ ready: true, replicas: 2, readyReplicas: 1 }, 'Running', 'False'],
    [{ ready: true, replicas: 2, readyReplicas: 2 }, 'Running', 'True'],
    [{ ready: true, replicas: 3, readyReplicas: 3 }, 'ScalingDown', 'True'],
  ] as const)
    it(`is ${phase} with ${JSON.stringify(status ?? {})}`, () => {
      const report = statusOfMachinePool(observed({ infrastructure: part(CAPTMachinePool, status) }))
      assert.equal(report.fields?.['phase'], phase)
      assert.equal(report.conditions?.find(({ type }) => type === 'Available')?.status, available)
    })

  it('is the same object in both versions', () => {
    const status = {
      replicas: 2,
      initialization: { infrastructureProvisioned: true, bootstrapDataSecretCreated: true },
      conditions: [],
    }
    const stored = { ...pool(), status } as AnyObject
    const old = convertMachinePool(stored, 'v1beta1') as AnyObject & { status: object; spec: unknown }
    assert.deepEqual(old.status, {
      replicas: 2,
      infrastructureReady: true,
      bootstrapReady: true,
      v1beta2: { conditions: [] },
    })
    assert.deepEqual(readMachinePool(old), readMachinePool(stored))
    assert.deepEqual(convertMachinePool(old, 'v1beta2'), stored)
  })
})
