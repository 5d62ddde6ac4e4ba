import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCluster } from '#api'
import { PIPELINE_FINALIZER } from '../addon-delivery/names.ts'
import { decide } from './decide.ts'
import { defaultPipeline } from './default-pipeline.ts'
import type { ObservedPipeline } from './observed.ts'

const pipeline = defaultPipeline('capt-system')
const held = { ...pipeline, metadata: { ...pipeline.metadata, finalizers: [PIPELINE_FINALIZER] } }
const observed = (paused: boolean): ObservedPipeline => ({
  pipeline: held as unknown as ObservedPipeline['pipeline'],
  clusters: [
    readCluster({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { namespace: 'default', name: 'demo', uid: 'u' },
      ...{ spec: { paused } },
    }),
  ],
  deliveries: [],
  unselected: [],
  fault: undefined,
})

describe('a pipeline', () => {
  it('makes a delivery for each Cluster it selects', () => {
    assert.partialDeepStrictEqual(decide(observed(false)), { is: 'act', actions: [{ do: 'create-delivery' }] })
  })

  it('makes none for a paused Cluster: a move that takes the delivery away must not get it back', () => {
    assert.deepEqual(decide(observed(true)), { is: 'done' })
  })

  it('names those that hold its deletion, by namespace where it is another one, and what to do about them', () => {
    const followers = [
      { namespace: 'shop', name: 'blue' },
      ...Array.from({ length: 5 }, (_, i) => ({ namespace: 'capt-system', name: `demo-${5 - i}` })),
    ]
    const decideWith = (deliveries: readonly { namespace: string; name: string }[]) =>
      decide({
        ...observed(false),
        pipeline: { ...held, metadata: { ...held.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } as never,
        deliveries: deliveries as never,
      })
    const todo = 'Delete them to take their add-ons away (capt delete adeliv NAME), or delete their Clusters'
    assert.deepEqual(decideWith(followers.slice(0, 2)), {
      is: 'waiting',
      reason: 'StillUsed',
      message: `AddonDeliveries follow this pipeline: demo-5 and shop/blue. ${todo}`,
    })
    assert.partialDeepStrictEqual(decideWith(followers), {
      message: `AddonDeliveries follow this pipeline: demo-1, demo-2, demo-3, demo-4 and demo-5 and 1 more. ${todo}`,
    })
  })
})
