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
})
