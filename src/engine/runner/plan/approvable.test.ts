// Which plan may be approved, and what is said of every other one.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WorkspaceTemplateApply } from '#api'
import { isCaptError } from '#lib'
import { anApply } from '#testing'
import type { ProposedPlan, RunRecord } from '../../record/record.ts'
import { approvablePlan } from './approvable.ts'

const HASH = '0123456789abcdef'
const NOW_MS = Date.parse('2026-01-01T00:00:00Z')

interface Case {
  readonly given?: string
  readonly phase?: string
  readonly proposed?: Partial<ProposedPlan> | null
  readonly apply?: { readonly generation?: number; readonly observedHash?: string; readonly speculativeFor?: string }
}

function approve({ given, phase = 'Planned', proposed = {}, apply = {} }: Case): string {
  const { generation = 2, observedHash = 'inputs', speculativeFor } = apply
  const object = {
    ...anApply(speculativeFor === undefined ? {} : { speculativeFor }, { generation }),
    status: { observedHash, conditions: [{ type: 'Ready', status: 'False', observedGeneration: 2 }] },
  } as unknown as WorkspaceTemplateApply
  const plan = proposed && { hash: HASH, inputs: 'inputs', expiresAt: '2026-01-01T00:10:00Z', ...proposed }
  const record = { run: { phase }, ...(plan ? { proposed: plan } : {}) } as unknown as RunRecord
  try {
    return approvablePlan(object, record, given, NOW_MS).hash
  } catch (error) {
    assert.ok(isCaptError(error) && error.hint !== undefined)
    return error.code
  }
}

describe('An approval', () => {
  for (const [what, given, answer] of [
    ['by its hash', { given: HASH }, HASH],
    ['by eight characters of it', { given: HASH.slice(0, 8) }, HASH],
    ['of whichever plan waits', {}, HASH],
    ['by fewer characters', { given: HASH.slice(0, 7) }, 'CAPT_PLAN_CHANGED'],
    ['of another plan', { given: 'ffffffffffffffff' }, 'CAPT_PLAN_CHANGED'],
    ['when no plan waits', { given: HASH, proposed: null }, 'CAPT_PLAN_ABSENT'],
    ['while a run is on', { given: HASH, phase: 'Apply' }, 'CAPT_PLAN_ABSENT'],
    ['of a speculative plan', { given: HASH, apply: { speculativeFor: 'x' } }, 'CAPT_PLAN_ABSENT'],
    ['of another generation', { given: HASH, apply: { generation: 3 } }, 'CAPT_PLAN_CHANGED'],
    ['of other inputs', { given: HASH, apply: { observedHash: 'others' } }, 'CAPT_PLAN_CHANGED'],
    ['of an expired plan', { given: HASH, proposed: { expiresAt: '2026-01-01T00:00:00Z' } }, 'CAPT_PLAN_EXPIRED'],
  ] as const satisfies readonly (readonly [string, Case, string])[])
    it(`${what}: ${answer}`, () => assert.equal(approve(given), answer))
})
