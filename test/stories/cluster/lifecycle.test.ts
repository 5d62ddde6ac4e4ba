// Every controller examines deletion, move and pause in the same order, before anything else: a table over all of them.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  APPLY_FINALIZER,
  CLUSTER_FINALIZER,
  CONTROL_PLANE_FINALIZER,
  DELETE_FOR_MOVE_ANNOTATION,
  type ObjectMeta,
  PAUSED_ANNOTATION,
  pauseOf,
  TEMPLATE_FINALIZER,
} from '#api'
import type { Decision } from '#runtime'
import { decideDelivery } from '../../../src/controllers/addon-delivery/decide.ts'
import { DELIVERY_FINALIZER, PIPELINE_FINALIZER } from '../../../src/controllers/addon-delivery/names.ts'
import { decide as decidePipeline } from '../../../src/controllers/addon-pipeline/decide.ts'
import { decide as decideNetwork } from '../../../src/controllers/cluster/decide.ts'
import { decide as decidePlane } from '../../../src/controllers/control-plane/decide.ts'
import { decide as decideApply } from '../../../src/controllers/workspace-apply/decide.ts'
import { NO_DRIFT_DETECTION } from '../../../src/controllers/workspace-apply/drift/observe.ts'
import { decide as decideTemplate } from '../../../src/controllers/workspace-template/index.ts'
import { CORE_FINALIZER, decideCluster } from '../../../src/core/cluster/decide.ts'
import { anObservedInfra, anObservedPlane, someFacts } from '../../support/cluster/observed.ts'

interface Subject {
  readonly finalizer: string
  /** Decides about an object with this metadata, of a cluster that has something to destroy. */
  decide(metadata: ObjectMeta): Decision<unknown>
}

const deletingCluster = someFacts({ deleting: true })

/** Kinds that belong to one Cluster. */
const OF_A_CLUSTER: Readonly<Record<string, Subject>> = {
  Cluster: {
    finalizer: CORE_FINALIZER,
    decide(metadata) {
      const object = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata }
      const part = { object: { metadata: { name: 'demo', ownerReferences: [{ uid: metadata.uid }] } } }
      const facts = someFacts({ deleting: metadata.deletionTimestamp !== undefined })
      return decideCluster({ object, facts, controlPlane: part, workers: [], probe: { is: 'unprobed' } } as never)
    },
  },
  CAPTCluster: {
    finalizer: CLUSTER_FINALIZER,
    decide: (metadata) => decideNetwork(anObservedInfra({ metadata, observed: { cluster: deletingCluster } })),
  },
  CAPTControlPlane: {
    finalizer: CONTROL_PLANE_FINALIZER,
    decide: (metadata) => decidePlane(anObservedPlane({ metadata, observed: { cluster: deletingCluster } })),
  },
  WorkspaceTemplateApply: {
    finalizer: APPLY_FINALIZER,
    decide(metadata) {
      const apply = { apiVersion: 'v1', kind: 'WorkspaceTemplateApply', metadata, spec: { retry: { limit: 3 } } }
      const record = { bundle: { hash: 'h' }, state: { resources: 3 } }
      return decideApply({
        apply,
        paused: pauseOf(undefined, apply),
        view: { activity: 'idle', record },
        dependents: [],
        drift: NO_DRIFT_DETECTION,
      } as never)
    },
  },
  AddonDelivery: {
    finalizer: DELIVERY_FINALIZER,
    decide(metadata) {
      const delivery = { apiVersion: 'v1', kind: 'AddonDelivery', metadata, spec: { clusterName: 'demo' } }
      const teardown = { cause: 'cluster', isEmpty: true, ended: [], leftovers: [] }
      return decideDelivery({
        delivery,
        pause: pauseOf(undefined, delivery),
        teardown: metadata.deletionTimestamp === undefined ? undefined : teardown,
        workload: { is: 'absent' },
        isAdopted: false,
        nowMs: 0,
      } as never)
    },
  },
}

/** Kinds that several Clusters use: the pause or the move of one of them does not apply. */
const OF_MANY: Readonly<Record<string, Subject>> = {
  WorkspaceTemplate: {
    finalizer: TEMPLATE_FINALIZER,
    decide: (metadata) => decideTemplate({ template: { metadata }, users: [], updating: 0 } as never),
  },
  AddonPipeline: {
    finalizer: PIPELINE_FINALIZER,
    decide: (metadata) => decidePipeline({ pipeline: { metadata }, clusters: [], deliveries: [] } as never),
  },
}

const META: ObjectMeta = { name: 'demo', namespace: 'default', uid: 'uid-demo' }
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const PAUSED = { [PAUSED_ANNOTATION]: 'true' }
const MOVED = { [DELETE_FOR_MOVE_ANNOTATION]: '' }

for (const [kind, { finalizer, decide }] of Object.entries({ ...OF_A_CLUSTER, ...OF_MANY }))
  describe(`the lifecycle of ${kind}`, () => {
    const finalizers = [finalizer]
    it('needs nothing once it is deleted and not held by the finalizer', () =>
      assert.equal(decide({ ...META, ...DELETED, finalizers: [], annotations: PAUSED }).is, 'done'))

    it('begins the deletion of an object that is neither moved nor paused', () =>
      assert.equal(decide({ ...META, ...DELETED, finalizers }).is, 'act'))

    if (!(kind in OF_A_CLUSTER)) return
    it('releases an object that was moved, paused or not', () => {
      const release = { is: 'act', actions: [{ do: 'remove-finalizer' }] }
      assert.deepEqual(decide({ ...META, ...DELETED, finalizers, annotations: MOVED }), release)
      assert.deepEqual(decide({ ...META, ...DELETED, finalizers, annotations: { ...MOVED, ...PAUSED } }), release)
    })

    it('destroys and starts nothing while it is paused', () => {
      assert.notEqual(decide({ ...META, ...DELETED, finalizers, annotations: PAUSED }).is, 'act')
      assert.notEqual(decide({ ...META, finalizers: [], annotations: PAUSED }).is, 'act')
    })
  })
