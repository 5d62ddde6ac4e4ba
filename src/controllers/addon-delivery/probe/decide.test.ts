import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject } from '#api'
import { aDelivery, aStage, HASH, inShort, minutesAgo, recorded, shippedStage } from '../observed-examples.ts'
import { decideProbe, recordProof, type Verification } from './decide.ts'
import type { ObservedProbe, ProbePod } from './observe.ts'

const verify = { image: 'pause:3.10', timeout: '10m' }
const shipped = shippedStage('node-pool')
const stage = { ...shipped, nodePool: { ...shipped.nodePool!, verify } }
const wanted = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'capt-verify-node-pool' } } as AnyObject
const pod = (over: Partial<ProbePod> = {}): ProbePod => ({
  isOurs: true,
  isCurrent: true,
  isDeleting: false,
  createdAt: minutesAgo(1),
  state: { is: 'pending', message: 'PodScheduled=False' },
  ...over,
})
const record = (over: Partial<Verification> = {}): Verification => ({
  contentHash: HASH,
  startedAt: minutesAgo(1),
  ...over,
})
const ran = pod({ state: { is: 'ran', evidence: 'probe pod ran on node n1' } })
const crashed = pod({ state: { is: 'failed', message: 'the probe pod failed' } })

type Row = readonly [
  what: string,
  probe: ObservedProbe | undefined,
  verification: Verification | undefined,
  expected: string,
]

const TABLE: readonly Row[] = [
  ['is not requested', undefined, undefined, 'undefined'],
  ['is requested', { wanted, pod: undefined }, undefined, 'Checking waiting Probing'],
  ['is recorded and has no pod', { wanted, pod: undefined }, record(), 'Checking create-probe'],
  ['has a pending pod', { wanted, pod: pod() }, record(), 'Checking waiting ProbePending'],
  ['has a pod that ran', { wanted, pod: ran }, record(), 'Checking waiting Probing'],
  ['has a pod that failed', { wanted, pod: crashed }, record(), 'Checking waiting Probing'],
  ['has no node in time', { wanted, pod: pod() }, record({ startedAt: minutesAgo(11) }), 'Checking waiting Probing'],
  ['has evidence and a pod', { wanted, pod: ran }, record({ evidence: 'e' }), 'Checking remove-probe'],
  ['has evidence and no pod', { wanted, pod: undefined }, record({ evidence: 'e' }), 'Healthy done'],
  ['has failed and has a pod', { wanted, pod: crashed }, record({ failure: 'f' }), 'Checking remove-probe'],
  ['has failed', { wanted, pod: undefined }, record({ failure: 'f' }), 'Checking waiting RetryScheduled'],
  ['has a pod of older content', { wanted, pod: pod({ isCurrent: false }) }, record(), 'Checking remove-probe'],
  ['has a pod that is deleted', { wanted, pod: pod({ isDeleting: true }) }, record(), 'Checking waiting ProbeLeaving'],
  ['finds a foreign pod', { wanted, pod: pod({ isOurs: false }) }, record(), 'Failed stalled ProbeForeign'],
  ['is withdrawn and has a pod', { wanted: undefined, pod: pod() }, record(), 'Checking remove-probe'],
  ['is withdrawn', { wanted: undefined, pod: undefined }, record(), 'undefined'],
]

describe('a verification that', () => {
  for (const [what, probe, verification, expected] of TABLE)
    it(`${what}: ${expected}`, () => {
      const before = recorded({ name: stage.name, ...(verification ? { verification } : {}) })
      const verdict = decideProbe(aStage({ stage, probe, before }), aDelivery(), before)
      assert.equal(verdict ? `${verdict.state} ${inShort(verdict.decision)}` : 'undefined', expected)
    })

  it('has failed is tried again with a new record when the backoff is over', () => {
    const before = recorded({ failedAt: minutesAgo(1), verification: record({ failure: 'f' }) })
    const verdict = decideProbe(aStage({ stage, probe: { wanted, pod: undefined }, before }), aDelivery(), before)
    assert.equal(inShort(verdict!.decision), 'create-probe')
    assert.deepEqual(verdict!.verification, { contentHash: HASH, startedAt: minutesAgo(0) })
  })
})

describe('the record of a verification', () => {
  const kept = (over: object, known: Verification) =>
    recordProof(aStage({ before: recorded({ verification: known }), ...over }), undefined) !== undefined

  it('is kept while it is requested, and until its pod is gone', () => {
    assert.equal(kept({ stage }, record({ endedAt: minutesAgo(0) })), true)
    assert.equal(kept({ stage: shipped }, record()), true)
    assert.equal(kept({ stage: shipped, probe: { wanted: undefined, pod: pod() } }, record()), true)
    assert.equal(kept({ stage: shipped, probe: { wanted: undefined, pod: undefined } }, record()), false)
    assert.equal(kept({ stage: shipped }, record({ endedAt: minutesAgo(0) })), false)
  })
})
