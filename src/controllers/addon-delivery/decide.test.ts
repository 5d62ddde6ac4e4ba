import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideDelivery } from './decide.ts'
import { progressing } from './health/finding.ts'
import { RELEASE_ANNOTATION } from './names.ts'
import type { ObservedDelivery } from './observed.ts'
import { aDelivery, aPart, aStage, inShort, minutesAgo, recorded, shippedStage } from './observed-examples.ts'
import { reportDelivery } from './status.ts'

const deletionTimestamp = minutesAgo(0)
const annotations = { [RELEASE_ANNOTATION]: 'true' }
const fault = { code: 'CAPT_X', message: 'does not fit', hint: 'choose another' }
const openProbe = { stages: [{ name: 'node-pool', state: 'Checking', verification: { startedAt: minutesAgo(1) } }] }
const deleting = { ...aDelivery().pipeline!, metadata: { ...aDelivery().pipeline!.metadata, deletionTimestamp } }
const READY = { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
const WAITS = { ...READY, status: 'False', reason: 'StageFailed', message: 'x' }
const unwritten = aStage({ parts: [aPart({ isWritten: false })] })
const unhealthy = aStage({ parts: [aPart({ findings: [progressing('0 of 1')] })] })
const refused = aStage({ stage: shippedStage('karpenter', { needs: [] }), rendered: { is: 'refused', ...fault } })

const TABLE: readonly (readonly [string, ObservedDelivery, string])[] = [
  ['is healthy', aDelivery(), 'done'],
  ['is deleted and released by its finalizer', aDelivery({ metadata: { deletionTimestamp, finalizers: [] } }), 'done'],
  [
    'is deleted because its pipeline no longer selects the Cluster',
    aDelivery({ metadata: { deletionTimestamp, annotations } }),
    'remove-finalizer',
  ],
  [
    'is released while a probe pod exists',
    aDelivery({ metadata: { deletionTimestamp, annotations }, status: openProbe }),
    'remove-probe remove-finalizer',
  ],
  [
    'is released while its workload API does not answer',
    aDelivery({
      metadata: { deletionTimestamp, annotations },
      status: openProbe,
      workload: { is: 'unreachable', message: 'x' },
    }),
    'remove-finalizer',
  ],
  ['is paused', aDelivery({ pause: 'The Cluster is paused' }), 'waiting Paused'],
  ['is paused while it is ready', aDelivery({ pause: 'x', status: { conditions: [READY] } }), 'done'],
  ['is paused while it waits', aDelivery({ pause: 'x', status: { conditions: [WAITS] } }), 'waiting StageFailed'],
  ['is paused before it has a finalizer', aDelivery({ pause: 'x', metadata: { finalizers: [] } }), 'waiting Paused'],
  ['has no finalizer', aDelivery({ metadata: { finalizers: [] } }), 'add-finalizer'],
  ['has no owner', aDelivery({ isAdopted: false }), 'adopt'],
  ['has no Cluster', aDelivery({ cluster: undefined }), 'waiting ClusterMissing'],
  ['may not use its pipeline', aDelivery({ isPipelineForbidden: true }), 'stalled PipelineForbidden'],
  ['has no pipeline', aDelivery({ pipeline: undefined }), 'stalled PipelineMissing'],
  ['has a pipeline that is deleted', aDelivery({ pipeline: deleting }), 'stalled PipelineDeleting'],
  ['shares a stage with another pipeline', aDelivery({ conflict: 'both' }), 'stalled PipelineConflict'],
  ['has stages that need each other', aDelivery({ planFault: fault }), 'stalled PipelineInvalid'],
  ['is suspended', aDelivery({ spec: { suspend: true } }), 'waiting Suspended'],
  ['finds no ClusterResourceSet API', aDelivery({ areSetsServed: false }), 'stalled ResourceSetsNotServed'],
  ['asks for versions that do not fit', aDelivery({ faults: [fault] }), 'stalled VersionMismatch'],
  ['has a part to write', aDelivery({ stages: [unwritten] }), 'deliver'],
  ['has a part to write and no label', aDelivery({ stages: [unwritten], isLabelled: false }), 'label-cluster deliver'],
  ['has an unhealthy stage', aDelivery({ stages: [unhealthy] }), 'waiting NotHealthy'],
  ['has a refused stage beside it', aDelivery({ stages: [unhealthy, refused] }), 'stalled StageRefused'],
]

describe('an AddonDelivery that', () => {
  for (const [what, observed, expected] of TABLE)
    it(`${what}: ${expected}`, () => {
      assert.equal(inShort(decideDelivery(observed)), expected)
    })
})

describe('the condition Paused of an AddonDelivery', () => {
  for (const [name, pause, expected] of [
    ['is True with the cause', 'The Cluster is paused', 'True The Cluster is paused'],
    ['is False without a pause', undefined, 'False '],
  ] as const)
    it(name, () => {
      const observed = aDelivery({ pause })
      const { conditions = [] } = reportDelivery(observed, decideDelivery(observed))
      const { status, message } = conditions.find(({ type }) => type === 'Paused')!
      assert.equal(`${status} ${message}`, expected)
    })
})

describe('the next reconcile of an AddonDelivery', () => {
  const after = (observed: ObservedDelivery) => {
    const decision = decideDelivery(observed)
    return decision.is === 'act' ? undefined : decision.retryAfterSeconds
  }

  it('follows within twelve minutes while stages are installed, and by event alone when none is requested', () => {
    const seconds = after(aDelivery())
    assert.ok(seconds !== undefined && seconds >= 480 && seconds <= 720, String(seconds))
    assert.equal(after(aDelivery({ stages: [aStage({ isWanted: false, hasSets: false })] })), undefined)
  })

  it('polls a stage that is checked without a watch, and waits for the timeout with one', () => {
    assert.equal(after(aDelivery({ stages: [unhealthy], isWatched: false })), 15)
    assert.equal(after(aDelivery({ stages: [unhealthy] })), 14 * 60)
  })

  it('is that of the earliest stage, whichever stage is reported', () => {
    const soon = aStage({
      stage: shippedStage('flux', { name: 'other', timeout: '2m' }),
      parts: unhealthy.parts,
      before: recorded({ name: 'other' }),
    })
    assert.equal(after(aDelivery({ stages: [unhealthy, soon] })), 60)
  })
})
