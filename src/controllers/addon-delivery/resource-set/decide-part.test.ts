import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StageStatus } from '#api'
import { failed, progressing, troubled } from '../health/finding.ts'
import type { DeliveryAction, ObservedPart } from '../observed.ts'
import { aDelivery, aPart, aStage, inShort, minutesAgo, recorded, row } from '../observed-examples.ts'
import { decidePart } from './decide-part.ts'

const gate: DeliveryAction = { do: 'open-gate', label: 'g', stage: 'flux' }
const open = [row({ applied: false, bindingHash: undefined, equal: false })]
const refused = [row({ applied: false, equal: false })]
const late = recorded({ startedAt: minutesAgo(16) })
const failedAt = (minutes: number, over: object = {}) => recorded({ failedAt: minutesAgo(minutes), ...over })
const broken = [failed('Deployment x: CrashLoopBackOff')]
const lost = { names: ['Deployment flux-system/helm-controller'], isCertain: true }
const { part } = aPart()
const withRelease = aPart({
  findings: broken,
  part: {
    ...part,
    checks: [
      { type: 'HelmReleaseReady', name: 'karpenter', namespace: 'kube-system' },
      { type: 'SourceReady', name: 'karpenter', namespace: 'kube-system' },
    ],
  },
})
const shared = aPart({ findings: broken, part: { ...part, payloads: [{ ...part.payloads[0]!, shared: true }] } })

type Row = readonly [what: string, part: ObservedPart, before: StageStatus, expected: string]

const TABLE: readonly Row[] = [
  ['is delivered and healthy', aPart(), recorded(), 'undefined'],
  ['is not written', aPart({ isWritten: false }), recorded(), 'Delivering deliver'],
  ['is not applied by core yet', aPart({ rows: open }), recorded(), 'Delivering waiting NotDelivered'],
  ['is not applied in time', aPart({ rows: open }), late, 'Delivering waiting RetryScheduled'],
  ['is refused by core', aPart({ rows: refused }), recorded(), 'Delivering waiting RetryScheduled'],
  ['is refused and the backoff is over', aPart({ rows: refused }), failedAt(1), 'Delivering nudge'],
  ['was not read', aPart({ findings: undefined }), recorded(), 'Checking waiting NotLookedYet'],
  ['is progressing', aPart({ findings: [progressing('0 of 1')] }), recorded(), 'Checking waiting NotHealthy'],
  ['is progressing with a cause', aPart({ findings: [troubled('x')] }), recorded(), 'Checking waiting NotHealthy'],
  ['is not healthy in time', aPart({ findings: [progressing('0')] }), late, 'Checking waiting RetryScheduled'],
  ['has failed', aPart({ findings: broken }), recorded(), 'Checking waiting RetryScheduled'],
  ['has failed and the backoff is over', aPart({ findings: broken }), failedAt(1), 'Checking redeliver'],
  ['has failed with a shared payload', shared, failedAt(1), 'Checking nudge'],
  ['has a release that failed', withRelease, failedAt(1), 'Checking retry-flux retry-flux'],
  [
    'has failed too often',
    aPart({ findings: broken }),
    failedAt(1, { attempts: 5 }),
    'Failed stalled RetriesExhausted',
  ],
  ['has lost objects', aPart({ absence: lost }), recorded(), 'Delivering waiting ObjectsMissing'],
  [
    'has lost objects for some time',
    aPart({ absence: lost }),
    recorded({ redelivery: [{ set: part.set, since: minutesAgo(2) }] }),
    'Delivering redeliver',
  ],
  [
    'has lost objects too often',
    aPart({ absence: lost }),
    recorded({ redelivery: [{ set: part.set, since: minutesAgo(99), times: 5 }] }),
    'Failed stalled ObjectsMissing',
  ],
  ['lacks a kind that is not served', aPart({ absence: { ...lost, isCertain: false } }), recorded(), 'undefined'],
]

describe('a part that', () => {
  const decide = (observed: ObservedPart, before: StageStatus, actions: readonly DeliveryAction[] = []) =>
    decidePart(aStage({ parts: [observed], before }), observed, aDelivery(), before, actions)

  for (const [what, observed, before, expected] of TABLE)
    it(`${what}: ${expected}`, () => {
      const verdict = decide(observed, before)
      assert.equal(verdict ? `${verdict.state} ${inShort(verdict.decision)}` : 'undefined', expected)
    })

  it('opens the gate first, and is written only when it must be', () => {
    assert.equal(inShort(decide(aPart(), recorded(), [gate])!.decision), 'open-gate')
    assert.equal(inShort(decide(aPart({ isWritten: false }), recorded(), [gate])!.decision), 'open-gate deliver')
  })

  it('is carried by the action that delivers it', () => {
    const observed = aPart({ isWritten: false })
    const { decision } = decide(observed, recorded())!
    assert.ok(decision.is === 'act' && decision.actions[0]?.do === 'deliver')
    assert.equal(decision.actions[0].part, observed.part)
  })
})
