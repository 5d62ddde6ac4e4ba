import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCluster } from '#api'
import { decide, type PipelineSeen } from './addon-pipeline.ts'
import { defaultPipeline } from './default-pipeline.ts'
import { PIPELINE_FINALIZER } from './names.ts'

const pipeline = defaultPipeline('capt-system')
const held = { ...pipeline, metadata: { ...pipeline.metadata, finalizers: [PIPELINE_FINALIZER] } }
const seen = (paused: boolean): PipelineSeen => ({
  pipeline: held as unknown as PipelineSeen['pipeline'],
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
    assert.partialDeepStrictEqual(decide(seen(false)), { is: 'act', actions: [{ do: 'create-delivery' }] })
  })

  it('makes none for a paused Cluster: a move that takes the delivery away must not get it back', () => {
    assert.deepEqual(decide(seen(true)), { is: 'done' })
  })
})
