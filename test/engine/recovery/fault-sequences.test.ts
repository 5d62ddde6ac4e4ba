// Whatever runs fail with, and in whichever order: attempts keep their backoff, end at the limit, and a deletion ends at its
// bound. The decision is pure, so time is a number here and the record is made by the functions that make the real one.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { APPLY_FINALIZER, type WorkspaceTemplateApply } from '#api'
import { backoffSeconds, type FaultKind, type RunRecord, renderWorkspace, type Verb } from '#engine'
import type { Decision } from '#runtime'
import { anApply, anObservedApply, aTemplate } from '#testing'
import type { Action } from '../../../src/controllers/workspace-apply/actions.ts'
import { decide } from '../../../src/controllers/workspace-apply/decide.ts'
import { deletionLeft, dueIn, type Observed, ownerOf } from '../../../src/controllers/workspace-apply/observe.ts'
import { openRun } from '../../../src/engine/local/open-run.ts'
import { closeRun, newRecord } from '../../../src/engine/record/record.ts'

const KINDS: readonly FaultKind[] = [
  'user',
  'credentials',
  'throttling',
  'capacity',
  'dependency',
  'network',
  'internal',
  'memory',
  'deadline',
  'locked',
  'lost',
]
const START_MS = Date.UTC(2026, 0, 1)
const template = aTemplate('output "x" { value = "1" }')
const at = (ms: number) => new Date(ms).toISOString()

interface Failure {
  readonly kind: FaultKind
  readonly tookSeconds: number
  /** Reconciles before the next attempt is due, as parts of the wait: an event may wake the object at any time. */
  readonly glances: readonly number[]
}

interface Attempt {
  readonly startedMs: number
  readonly finishedMs: number
  readonly kind: FaultKind
  readonly attempt: number
}

const failure: fc.Arbitrary<Failure> = fc.record({
  kind: fc.constantFrom(...KINDS),
  tookSeconds: fc.integer({ min: 0, max: 1800 }),
  glances: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 3 }),
})

const observed = (apply: WorkspaceTemplateApply, record: RunRecord, nowMs: number): Observed =>
  anObservedApply(apply, {
    view: { record, activity: 'idle', cancelling: false },
    template,
    rendering: renderWorkspace(template, apply),
    dueInSeconds: dueIn(record, false, nowMs, backoffSeconds),
    deletionLeftSeconds: deletionLeft(apply, record, nowMs),
  })

/** Plays the loop until nothing is due any more. */
function play(verb: Verb, limit: number, deletionTimeout: string, failures: readonly Failure[]) {
  const metadata = {
    finalizers: [APPLY_FINALIZER],
    ...(verb === 'destroy' ? { deletionTimestamp: at(START_MS) } : {}),
  }
  const apply = anApply({ retry: { limit }, deletionTimeout }, metadata)
  const bundle = { id: 'b', parts: 1, bytes: 1, hash: 'frozen', tool: '' }
  let record: RunRecord = { ...newRecord('id'), ...(verb === 'destroy' ? { bundle } : {}) }
  let nowMs = START_MS
  const attempts: Attempt[] = []
  let last: Decision<Action> = { is: 'done' }
  for (const { kind, tookSeconds, glances } of failures) {
    last = decide(observed(apply, record, nowMs))
    if (last.is !== 'act') {
      const waitMs = (last.is === 'done' ? 0 : (last.retryAfterSeconds ?? 0)) * 1000
      if (waitMs === 0) break
      for (const part of glances) {
        const early = decide(observed(apply, record, nowMs + Math.floor((waitMs - 1000) * part)))
        assert.notEqual(early.is, 'act', 'a reconcile before the backoff is over starts nothing')
      }
      nowMs += waitMs
      last = decide(observed(apply, record, nowMs))
      if (last.is !== 'act') break
    }
    const [action] = last.actions
    assert.ok(action?.do === 'start-run' && action.verb === verb)
    const startedMs = nowMs
    const owner = ownerOf(apply)
    record = openRun(record, { owner, verb, hash: action.hash, timeoutSeconds: 3600 }, '', at(nowMs))
    nowMs += tookSeconds * 1000
    const fault = { kind, code: 'CAPT_TF_FAILED', message: 'it failed', hint: 'correct it' }
    record = closeRun(record, kind === 'lost' ? 'Lost' : 'Failed', at(nowMs), fault)
    attempts.push({ startedMs, finishedMs: nowMs, kind, attempt: record.run!.attempt })
  }
  return { attempts, end: decide(observed(apply, record, nowMs)), wasLast: last.is !== 'act' }
}

describe('a sequence of failures', () => {
  for (const verb of ['apply', 'destroy'] as const)
    it(`of ${verb} never goes faster than the backoff of its class, and ends at the limit`, () => {
      fc.assert(
        fc.property(
          fc.array(failure, { minLength: 1, maxLength: 40 }),
          fc.integer({ min: 0, max: 12 }),
          fc.constantFrom(['10m', 600], ['2h', 7200], ['100h', 360_000]),
          (failures, limit, [deletionTimeout, boundSeconds]) => {
            const { attempts, end } = play(verb, limit, deletionTimeout as string, failures)
            for (const [i, now] of attempts.entries()) {
              assert.equal(now.attempt, i + 1, 'attempts are counted')
              const before = attempts[i - 1]
              if (!before) continue
              const waitedSeconds = (now.startedMs - before.finishedMs) / 1000
              const due = backoffSeconds(before.kind, before.attempt)
              assert.ok(waitedSeconds >= due, `waited ${waitedSeconds} of ${due} s after ${before.kind}`)
              const sinceFirst = (now.startedMs - attempts[0]!.startedMs) / 1000
              assert.ok(verb === 'apply' || sinceFirst <= Number(boundSeconds), 'no destroy begins after the bound')
            }
            assert.ok(attempts.length <= limit + 1, `${attempts.length} attempts with a limit of ${limit}`)
            if (attempts.length === failures.length) return
            assert.equal(end.is, 'stalled', 'it stopped before the failures did')
            if (verb === 'destroy' && end.is === 'stalled') {
              assert.match(end.hint, /capt retry demo/)
              assert.match(end.hint, /retainWorkspaceOnDelete":true/)
              assert.match(end.hint, /capt forget demo -n default --orphan-resources/)
              assert.match(end.hint, /spec\.retry\.limit or spec\.deletionTimeout/)
            }
          },
        ),
        { numRuns: 300 },
      )
    })
})
