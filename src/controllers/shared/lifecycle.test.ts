// The frame of a decision as a table: what is examined before the spec, and what an object needs of its Cluster.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, BLOCK_MOVE_ANNOTATION, DELETE_FOR_MOVE_ANNOTATION } from '#api'
import { done, stalled, waiting } from '#runtime'
import { decideLifecycle, decideMembership } from './lifecycle.ts'

const FINALIZER = 'example.com/held'
const HELD = { finalizers: [FINALIZER] }
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

const anObject = (metadata: object): AnyObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Part',
  metadata: { name: 'one', namespace: 'default', uid: 'one', ...metadata },
})

describe('the lifecycle of a part of a Cluster', () => {
  const moved = { annotations: { [DELETE_FOR_MOVE_ANNOTATION]: '' } }
  const blocking = { annotations: { [BLOCK_MOVE_ANNOTATION]: 'true' } }
  const paused = waiting('Paused', 'Paused before any work was done')
  const acts = (what: string) => ({ is: 'act', actions: [{ do: what }] })
  for (const [
    what,
    metadata,
    { pause = false, isRunning = false, paused: during = undefined as unknown },
    expected,
  ] of [
    ['follows its spec', HELD, {}, acts('active')],
    ['without our finalizer is left alone while it goes', GOING, { pause: true }, done],
    [
      'that was moved is released, also during a pause',
      { ...HELD, ...GOING, ...moved },
      { pause: true },
      acts('remove-finalizer'),
    ],
    ['that is paused keeps what it has', { ...HELD, ...GOING }, { pause: true }, paused],
    ['that is paused may be moved', { ...HELD, ...blocking }, { pause: true }, acts('unblock-move')],
    [
      'that is paused during a run may not be moved',
      { ...HELD, ...blocking },
      { pause: true, isRunning: true },
      paused,
    ],
    [
      'that is paused goes on with what a pause allows',
      HELD,
      { pause: true, paused: acts('refresh') },
      acts('refresh'),
    ],
    ['that is deleted is taken down', { ...HELD, ...GOING }, {}, acts('deleting')],
  ] as const)
    it(`one ${what}`, () => {
      const decision = decideLifecycle<{ readonly do: string }>(anObject(metadata), FINALIZER, {
        pause: pause ? 'Cluster spec.paused is set to true' : undefined,
        isRunning,
        paused: () => during as ReturnType<typeof decideLifecycle<{ readonly do: string }>> | undefined,
        deleting: () => ({ is: 'act', actions: [{ do: 'deleting' }] }),
        active: () => ({ is: 'act', actions: [{ do: 'active' }] }),
      })
      assert.deepEqual(decision, expected)
    })
})

describe('membership in a Cluster', () => {
  const owner = { ...anObject({}), kind: 'Cluster', metadata: { name: 'demo', namespace: 'default', uid: 'demo' } }
  const owned = { ownerReferences: [{ apiVersion: 'v1', kind: 'Cluster', name: 'demo', uid: 'demo' }] }
  const cluster = { name: 'demo', deleting: false, object: owner }
  const missing = stalled(
    'ClusterMissing',
    'Part one belongs to no Cluster',
    'set the label cluster.x-k8s.io/cluster-name to the name of a Cluster of this namespace',
  )
  const absent = waiting('WaitingForCluster', 'Waiting for Cluster demo of this namespace')
  const leaving = waiting('ClusterDeleting', 'Cluster demo is being deleted')
  for (const [what, member, expected] of [
    ['needs a name', { object: anObject({}), clusterName: undefined, cluster: undefined }, missing],
    ['waits for the Cluster', { object: anObject({}), clusterName: 'demo', cluster: undefined }, absent],
    [
      'is an owner reference first',
      { object: anObject({}), clusterName: 'demo', cluster },
      { is: 'act', actions: [{ do: 'own' }] },
    ],
    [
      'is held then',
      { object: anObject(owned), clusterName: 'demo', cluster },
      { is: 'act', actions: [{ do: 'add-finalizer' }] },
    ],
    [
      'ends with the Cluster',
      { object: anObject({ ...owned, ...HELD }), clusterName: 'demo', cluster: { ...cluster, deleting: true } },
      leaving,
    ],
    ['asks for nothing else', { object: anObject({ ...owned, ...HELD }), clusterName: 'demo', cluster }, undefined],
  ] as const)
    it(what, () => assert.deepEqual(decideMembership(member, FINALIZER), expected))
})
