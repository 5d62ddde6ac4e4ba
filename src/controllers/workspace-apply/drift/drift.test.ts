// When drift is checked, when a finding is corrected, and what is reported: tables over records and answers.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { APPLY_FINALIZER, BLOCK_MOVE_ANNOTATION, type WorkspaceTemplateApply } from '#api'
import { type DriftReport, type Run, type RunRecord, renderWorkspace, type WorkspaceView } from '#engine'
import type { Decision } from '#runtime'
import { anApply, aTemplate } from '#testing'
import type { Action } from '../actions.ts'
import { decide } from '../decide.ts'
import { type Observed, ownerOf } from '../observe.ts'
import { answerOf, dueAt, NO_DRIFT_DETECTION, type ObservedDrift, observeDrift, repeatAt } from './observe.ts'
import { driftCondition, driftStatus } from './status.ts'

const template = aTemplate('output "x" { value = "1" }')
const apply = (spec: object = {}, over: object = {}) =>
  anApply(spec, { finalizers: [APPLY_FINALIZER], ...over }) as WorkspaceTemplateApply
const rendering = renderWorkspace(template, apply())
assert.ok(rendering.ok)
const { hash } = rendering.workspace

const RUN = { id: 'r1', verb: 'apply', hash, attempt: 1, phase: 'Succeeded', resumed: 0 } as unknown as Run
const record = (run: Partial<Run> = {}, over: Partial<RunRecord> = {}) =>
  ({
    version: 1,
    workspaceId: 'w',
    suspects: [],
    kept: [],
    backups: [],
    history: [],
    run: { ...RUN, ...run },
    applied: { hash, at: '2026-01-01T00:00:00Z', runId: 'r1', outputs: {}, omitted: [] },
    state: { serial: 3, lineage: 'l', savedAt: '', resources: 2 },
    ...over,
  }) as RunRecord
const report = (over: Partial<DriftReport> = {}): DriftReport => ({
  run: 'c1',
  of: { applied: 'r1', inputs: hash, isAsApplied: true, lineage: 'l', serial: 3 },
  at: '2026-01-01T06:00:00Z',
  result: 'Drifted',
  counts: { drifted: 1, pending: 0, upstream: 0 },
  changes: [{ address: 'page.a', action: 'update', cause: 'Drift' }],
  ignored: 0,
  sources: [],
  ...over,
})
const MIXED = report({ counts: { drifted: 1, pending: 0, upstream: 1 }, sources: ['data.ami.x'] })
const idle = (checks?: Partial<RunRecord>): WorkspaceView => ({
  record: checks as RunRecord | undefined,
  activity: 'idle',
  cancelling: false,
})
const on = (mode: 'Report' | 'Correct', over: Partial<ObservedDrift> = {}): ObservedDrift => ({
  settings: { mode, intervalSeconds: 3600 },
  checks: idle({}),
  answer: undefined,
  dueInSeconds: 600,
  request: undefined,
  ...over,
})
const running = (over: Partial<WorkspaceView> = {}): WorkspaceView => ({
  ...idle(record({ id: 'c1' })),
  activity: 'running',
  ...over,
})
const READY_AND_BLOCKED = {
  ...apply({}, { annotations: { [BLOCK_MOVE_ANNOTATION]: 'true' } }),
  status: { conditions: [{ type: 'Ready', status: 'True' }], run: { id: 'r1', phase: 'Succeeded' } },
} as unknown as WorkspaceTemplateApply
const found = (one: DriftReport) => ({ answer: { is: 'found', report: one } }) as const

function observed(drift: ObservedDrift, over: Partial<Observed> = {}): Observed {
  const about = over.apply ?? apply()
  return {
    apply: about,
    owner: ownerOf(about),
    view: { record: record(), activity: 'idle', cancelling: false },
    paused: undefined,
    template,
    forbidden: undefined,
    rendering,
    recheckSeconds: undefined,
    missingSecrets: [],
    unready: [],
    cycle: undefined,
    dependents: [],
    slot: { is: 'now' },
    approval: { policy: { mode: 'Auto', guard: [], expirySeconds: 3600 }, answer: undefined, leftSeconds: 0 },
    drift,
    dueInSeconds: 0,
    deletionLeftSeconds: undefined,
    credentialsChanged: false,
    retryToken: undefined,
    ...over,
  }
}
const wordOf = (decision: Decision<Action>): string =>
  decision.is === 'act' ? decision.actions.map((action) => action.do).join() : decision.is
const at = (run: Partial<Run>): Partial<Observed> => ({
  view: { record: record(run), activity: 'idle', cancelling: false },
})
const correction = { id: 'r2', corrects: 'c1', phase: 'Planned' } as const
const deleted = { deletionTimestamp: '2026-01-02T00:00:00Z' }

describe('An apply with drift detection', () => {
  for (const [what, drift, over, decision] of [
    ['is done without it', NO_DRIFT_DETECTION, {}, 'done'],
    ['is done until the check is due', on('Report'), {}, 'done'],
    ['is checked when that is due', on('Report', { dueInSeconds: 0 }), {}, 'check-drift'],
    [
      'is not checked while a check runs',
      on('Report', { dueInSeconds: 0, checks: { ...idle({}), activity: 'running' } }),
      {},
      'done',
    ],
    [
      'is not checked while it is suspended',
      on('Report', { dueInSeconds: 0 }),
      { apply: apply({ suspend: true }) },
      'done',
    ],
    ['runs first when its inputs changed', on('Report', { dueInSeconds: 0 }), at({ hash: 'other' }), 'start-run'],
    [
      'is checked while a change is held back',
      on('Report', { dueInSeconds: 0 }),
      { ...at({ hash: 'other' }), slot: { is: 'stopped' } },
      'check-drift',
    ],
    [
      'gives up a check whose runner is lost',
      on('Report', { checks: { ...idle({}), activity: 'lost' } }),
      {},
      'abandon-check',
    ],
    [
      'forgets a check that cannot be seen from here, as after a move',
      on('Report', { checks: { ...idle({}), activity: 'unreachable' } }),
      {},
      'forget-checks',
    ],
    ['ends a check when it is paused', on('Report', { checks: running() }), { paused: 'x' }, 'cancel-check'],
    [
      'keeps Ready, and the move waits, until that check has ended',
      on('Report', { checks: running({ cancelling: true }) }),
      { paused: 'x', apply: READY_AND_BLOCKED },
      'done',
    ],
    [
      'may be moved when its check has ended',
      on('Report', { checks: idle(record()) }),
      { paused: 'x', apply: READY_AND_BLOCKED },
      'unblock-move',
    ],
    ['may not be moved while it is checked', on('Report', { checks: running() }), { apply: READY_AND_BLOCKED }, 'done'],
    [
      'forgets its checks when it is turned off',
      { ...NO_DRIFT_DETECTION, checks: idle(record()) },
      {},
      'forget-checks',
    ],
    ['leaves drift alone with Report', on('Report', found(report())), {}, 'done'],
    ['corrects drift with Correct', on('Correct', found(report())), {}, 'start-run'],
    ['corrects the finding of one check once', on('Correct', found(report())), at({ corrects: 'c1' }), 'done'],
    ['does not correct drift beside upstream movement', on('Correct', found(MIXED)), {}, 'done'],
    [
      'does not correct upstream movement',
      on('Correct', found(report({ result: 'UpstreamMoved', counts: { drifted: 0, pending: 0, upstream: 1 } }))),
      {},
      'done',
    ],
    [
      'does not correct what it does not know',
      on('Correct', { answer: { is: 'unknown', message: 'm', at: '' } }),
      {},
      'done',
    ],
    [
      'does not correct while it is checked',
      on('Correct', { ...found(report()), checks: { ...idle({}), activity: 'running' } }),
      {},
      'done',
    ],
    [
      'ends a check before it is deleted',
      on('Report', { checks: running() }),
      { apply: apply({}, deleted) },
      'cancel-check',
    ],
    [
      'waits for the end of that check',
      on('Report', { checks: running({ cancelling: true }) }),
      { apply: apply({}, deleted) },
      'waiting',
    ],
    ['drops a planned correction when the mode is Report', on('Report'), at(correction), 'done'],
    ['plans a correction again that has expired', on('Correct'), at(correction), 'start-run'],
  ] as const)
    it(what, () => assert.equal(wordOf(decide(observed(drift as ObservedDrift, over as Partial<Observed>))), decision))

  it('is reconciled again when the next check is due, or before', () => {
    assert.deepEqual(decide(observed(on('Report'))), { is: 'done', retryAfterSeconds: 600 })
    assert.deepEqual(decide(observed(on('Report'), { recheckSeconds: 60 })), { is: 'done', retryAfterSeconds: 60 })
  })

  it('corrects by an ordinary run that names the check, by the same approval', () => {
    const decision = decide(observed(on('Correct', found(report()))))
    assert.partialDeepStrictEqual(decision, {
      actions: [{ do: 'start-run', verb: 'apply', hash, corrects: 'c1', approval: { mode: 'Auto' } }],
    })
    const fault = { kind: 'network', code: 'X', message: 'm', hint: '' } as const
    const again = decide(observed(on('Correct'), at({ ...correction, phase: 'Failed', fault })))
    assert.partialDeepStrictEqual(again, { actions: [{ do: 'start-run', corrects: 'c1' }] })
    const asked = decide(
      observed(on('Correct'), { ...at({ ...correction, phase: 'Failed', fault }), retryToken: 'now' }),
    )
    assert.equal(asked.is === 'act' && 'corrects' in asked.actions[0]!, false, 'capt retry applies everything')
  })

  it('is as it was applied when the correction is denied', () => {
    const proposed = { hash: 'p', inputs: hash } as RunRecord['proposed'] & object
    const view = { record: record(correction, { proposed }), activity: 'idle', cancelling: false } as const
    const approval = { ...observed(on('Correct')).approval, answer: { is: 'denied', plan: 'p', by: 'bob' } } as const
    assert.equal(decide(observed(on('Correct'), { view, approval })).is, 'done')
  })
})

describe('The answer of a check', () => {
  const check = (over: Partial<Run>, drift: DriftReport | undefined = report()) =>
    ({ run: { ...RUN, id: 'c1', phase: 'Planned', finishedAt: '2026-01-01T06:00:00Z', ...over }, drift }) as RunRecord
  const fault = (code: string, kind = 'user') =>
    ({ fault: { code, kind, message: 'no access', hint: '' } }) as Partial<Run>
  for (const [what, checks, of, inputs, is] of [
    ['is its finding', check({}), record(), hash, 'found'],
    ['is nothing before the first', undefined, record(), hash, undefined],
    [
      'does not hold after another apply',
      check({}),
      record({}, { applied: { ...record().applied!, runId: 'r9' } }),
      hash,
      undefined,
    ],
    [
      'does not hold for another state',
      check({}),
      record({}, { state: { ...record().state!, serial: 4 } }),
      hash,
      undefined,
    ],
    ['does not hold for other inputs', check({}), record(), 'other', undefined],
    ['holds while the inputs cannot be rendered', check({}), record(), undefined, 'found'],
    ['is unknown when the check failed', check(fault('CAPT_TF_FAILED')), record(), hash, 'unknown'],
    [
      'is the earlier one when the check was discarded',
      check(fault('CAPT_DRIFT_DISCARDED', 'cancelled')),
      record(),
      hash,
      'found',
    ],
    [
      'is the earlier one when the Cluster was paused',
      check(fault('CAPT_RUN_PAUSED', 'paused')),
      record(),
      hash,
      'found',
    ],
    [
      'is the earlier one when its runner was stopped',
      check(fault('CAPT_RUN_STOPPED', 'lost')),
      record(),
      hash,
      'found',
    ],
    [
      'is unknown when it is interrupted again and again',
      check({ ...fault('CAPT_RUN_STOPPED', 'lost'), attempt: 6 }),
      record(),
      hash,
      'unknown',
    ],
    [
      'is gone when it failed before the last apply',
      check({ ...fault('X'), finishedAt: '2025-12-31T00:00:00Z' }),
      record(),
      hash,
      undefined,
    ],
  ] as const)
    it(what, () => assert.equal(answerOf(of, checks, inputs)?.is, is))
})

describe('The time of a check', () => {
  it('is within the interval after the last one, spread over applies, and the same after a restart', () => {
    const interval = fc.integer({ min: 600, max: 7 * 86_400 })
    fc.assert(
      fc.property(interval, fc.integer({ min: 0, max: 1e9 }), fc.string(), (intervalSeconds, seconds, id) => {
        const last = { applied: { at: new Date(seconds * 1000).toISOString() } } as RunRecord
        const dueMs = dueAt(last, undefined, { intervalSeconds }, id, seconds * 1000)
        const waitSeconds = dueMs / 1000 - seconds
        assert.ok(waitSeconds >= intervalSeconds * 0.0999 && waitSeconds <= intervalSeconds * 1.1001, `${waitSeconds}`)
        assert.equal(dueAt(last, undefined, { intervalSeconds }, id, dueMs), dueMs, 'it stays due')
      }),
    )
    const due = (id: number) => dueAt(record(), undefined, { intervalSeconds: 3600 }, `default/${id}`, 0)
    const tenths = new Set(Array.from({ length: 200 }, (_, id) => Math.floor((due(id) / 360_000) % 10)))
    assert.equal(tenths.size, 10)
  })

  it('is spread over the next interval when checks are turned on long after the apply', () => {
    const nowMs = Date.parse('2026-06-01T00:00:00Z')
    const waits = Array.from({ length: 500 }, (_, id) => {
      const dueMs = dueAt(record(), undefined, { intervalSeconds: 3600 }, `default/${id}`, nowMs)
      return (dueMs - nowMs) / 3_600_000
    })
    assert.ok(waits.every((wait) => wait > -0.1001 && wait <= 0.9001))
    const now = waits.filter((wait) => wait <= 0).length
    assert.ok(now > 20 && now < 90, `${now} of 500 are due at once`)
  })

  it('is now when somebody asks for it, once', async () => {
    const seen = (retryToken?: string) => ({ observe: async () => idle({ run: { ...RUN, retryToken } as Run }) })
    const asked = apply(
      { driftDetection: { interval: '12h', mode: 'Report' } },
      { annotations: { 'capt.appthrust.com/check-drift': 'x' } },
    )
    const look = (engine: ReturnType<typeof seen>) => observeDrift(engine, asked, template, record(), rendering, 0)
    assert.equal((await look(seen())).dueInSeconds, 0)
    assert.ok((await look(seen('x'))).dueInSeconds > 0)
  })

  for (const [what, run, seconds] of [
    ['at once when its Cluster was paused', { fault: { kind: 'paused' } }, 0],
    ['soon when its runner was lost', { fault: { kind: 'lost' } }, 1],
    ['later when that happens again', { fault: { kind: 'lost' }, attempt: 4 }, 8],
    ['at once when a pause ended it', { fault: { kind: 'cancelled', code: 'CAPT_RUN_CANCELLED' } }, 0],
    ['after half a minute when it was discarded', { fault: { kind: 'cancelled', code: 'CAPT_DRIFT_DISCARDED' } }, 30],
    ['never because it failed', { fault: { kind: 'user' } }, undefined],
    ['never because it was interrupted too often', { fault: { kind: 'lost' }, attempt: 6 }, undefined],
    ['never while it runs', { fault: { kind: 'lost' }, finishedAt: undefined }, undefined],
    ['never because it answered', {}, undefined],
    [
      'at once when another host closed it in our future',
      { fault: { kind: 'lost' }, finishedAt: '2026-01-09T00:00:00Z' },
      0,
    ],
  ] as const)
    it(`is repeated ${what}`, () => {
      const now = '2026-01-02T00:00:00Z'
      const at = repeatAt({ ...RUN, finishedAt: now, ...run } as unknown as Run, Date.parse(now))
      assert.equal(at === undefined ? undefined : (at - Date.parse(now)) / 1000, seconds)
    })

  it('is soon after one that was interrupted, and a request counts as answered only by an answer', async () => {
    const finishedAt = '2026-01-01T06:00:00Z'
    const run = { ...RUN, id: 'c1', retryToken: 'x', phase: 'Cancelled', finishedAt, fault: { kind: 'paused' } }
    const engine = { observe: async () => idle({ run: run as unknown as Run }) }
    const asked = apply(
      { driftDetection: { interval: '12h', mode: 'Report' } },
      { annotations: { 'capt.appthrust.com/check-drift': 'x' } },
    )
    const drift = await observeDrift(engine, asked, template, record(), rendering, Date.parse(finishedAt))
    assert.equal(drift.dueInSeconds, 0)
    assert.equal(driftStatus(observed(drift, { apply: asked }))?.['request'], undefined)
  })

  it('is by the template where the apply leaves it open', async () => {
    const engine = { observe: async () => idle() }
    const withChecks = {
      ...template,
      spec: { ...template.spec, driftDetection: { interval: '1h', mode: 'Correct' } },
    } as const
    const of = async (spec: object) =>
      (await observeDrift(engine, apply(spec), withChecks, record(), rendering, 0)).settings
    assert.deepEqual(await of({}), { mode: 'Correct', intervalSeconds: 3600 })
    const own = { driftDetection: { interval: '30m', mode: 'Report' } }
    assert.deepEqual(await of(own), { mode: 'Report', intervalSeconds: 1800 })
    assert.equal(await of({ speculativeFor: 'x' }), undefined)
  })
})

describe('What is reported about drift', () => {
  const UPSTREAM = { result: 'UpstreamMoved', counts: { drifted: 0, pending: 0, upstream: 1 } } as const
  const moved = report({ ...UPSTREAM, changes: [{ address: 'node.n', action: 'update', cause: 'Upstream' }] })
  for (const [what, drift, status, reason, message] of [
    ['nothing checked', on('Report'), 'False', 'NotChecked', /Not checked/],
    ['no drift', on('Report', found(report({ result: 'InSync' }))), 'False', 'InSync', /^$/],
    ['drift', on('Report', found(report())), 'True', 'Drifted', /page\.a.*capt retry/],
    ['drift that is corrected', on('Correct', found(report())), 'True', 'Drifted', /It is corrected by a run/],
    ['drift beside movement', on('Correct', found(MIXED)), 'True', 'Drifted', /not corrected.*data\.ami\.x/],
    ['movement', on('Correct', found(moved)), 'False', 'UpstreamMoved', /node\.n\. It is not applied by itself/],
    [
      'an open change',
      on('Report', found(report({ result: 'PendingChange', counts: { drifted: 0, pending: 2, upstream: 0 } }))),
      'False',
      'PendingChange',
      /2 changes of the inputs/,
    ],
    [
      'a failed check',
      on('Report', { answer: { is: 'unknown', message: 'no access', at: 't' } }),
      'Unknown',
      'CannotTell',
      /no access/,
    ],
  ] as const)
    it(`${what} is the condition Drifted=${status}, ${reason}`, () => {
      const { draft, isNew } = driftCondition(observed(drift as ObservedDrift))
      assert.deepEqual([draft?.status, draft?.reason], [status, reason])
      assert.match(draft?.message ?? '', message)
      assert.equal(isNew, !['NotChecked', 'InSync'].includes(reason))
    })

  it('is an event once', () => {
    const { draft } = driftCondition(observed(on('Report', found(report()))))
    const after = { ...apply(), status: { conditions: [draft] } } as unknown as WorkspaceTemplateApply
    assert.equal(driftCondition(observed(on('Report', found(report())), { apply: after })).isNew, false)
  })

  it('is over, once, when a later check finds nothing or a run has applied', () => {
    const before = (status: string) =>
      ({ ...apply(), status: { conditions: [{ type: 'Drifted', status }] } }) as unknown as WorkspaceTemplateApply
    for (const [status, answer, isOver] of [
      ['True', found(report({ result: 'InSync' })), true],
      ['True', undefined, true],
      ['True', found(report()), false],
      ['False', found(report({ result: 'InSync' })), false],
      ['Unknown', undefined, false],
    ] as const)
      assert.equal(driftCondition(observed(on('Report', answer), { apply: before(status) })).isOver, isOver)
  })

  it('has the counts, the first changes and the mode in the status, and nothing when it is off', () => {
    assert.partialDeepStrictEqual(driftStatus(observed(on('Report', found(report()))))!, {
      mode: 'Report',
      result: 'Drifted',
      drifted: 1,
      changes: [{ address: 'page.a', cause: 'Drift' }],
    })
    assert.equal(driftStatus(observed(NO_DRIFT_DETECTION)), undefined)
  })
})
