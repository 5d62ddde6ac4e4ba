// What a decision says about an object as a whole, in one place for every kind: the drafts of `Ready` and `Stalled`.
import type { Condition } from '#api'
import { CaptError, messageOf, redact } from '#lib'
import type { ConditionDraft } from '../controller.ts'
import type { Decision } from '../decision.ts'

export const READY = 'Ready'
export const STALLED = 'Stalled'

export interface Summary {
  readonly drafts: readonly ConditionDraft[]
  readonly removed: readonly string[]
}

/** `fault` is what was thrown, if anything: it outweighs the decision. */
export function summarize(
  type: string,
  decision: Decision<unknown> | undefined,
  fault: unknown,
  previous: Condition | undefined,
): Summary {
  if (fault !== undefined) return { drafts: [toFailure(type, fault)], removed: [] }
  switch (decision?.is) {
    case 'done':
      return { drafts: [{ type, status: 'True', reason: 'Ready', message: '' }], removed: [STALLED] }
    case 'waiting': {
      const { reason, message } = decision
      return { drafts: [{ type, status: 'False', reason, message }], removed: [STALLED] }
    }
    case 'stalled': {
      const { reason } = decision
      const message = `${decision.message.replace(/[.\s]+$/, '')}. ${decision.hint}`
      return {
        drafts: [
          { type, status: 'False', reason, message },
          { type: STALLED, status: 'True', reason, message },
        ],
        removed: [],
      }
    }
    default: {
      // While it acts an object keeps its last word, together with the generation that word was about.
      const progressing: ConditionDraft = {
        type,
        status: 'False',
        reason: 'Progressing',
        message: 'Working towards the desired state',
      }
      return { drafts: previous ? [] : [progressing], removed: [STALLED] }
    }
  }
}

export function toFailure(type: string, fault: unknown): ConditionDraft {
  const hint = fault instanceof CaptError && fault.hint ? ` (${fault.hint})` : ''
  const code = fault instanceof CaptError ? `${fault.code}: ` : ''
  return { type, status: 'False', reason: 'InternalError', message: redact(`${code}${messageOf(fault)}${hint}`) }
}
