// A condition of a kind of core, before it has its times.
import type { ConditionDraft } from '#runtime'

export const draft = (
  type: string,
  status: ConditionDraft['status'],
  reason: string,
  message = '',
): ConditionDraft => ({ type, status, reason, message })
