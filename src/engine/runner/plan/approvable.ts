// Whether a plan may be approved or denied now; the error says why not. Pure.
import { conditionOf, type WorkspaceTemplateApply } from '#api'
import { CaptError } from '#lib'
import type { ProposedPlan, RunRecord } from '../../record/record.ts'
import { isOpen } from '../../record/record.ts'

const MIN_PREFIX = 8

/** `given` is the hash or its beginning; left out: whichever plan waits. */
export function approvablePlan(
  apply: WorkspaceTemplateApply,
  record: RunRecord | undefined,
  given: string | undefined,
  nowMs: number,
): ProposedPlan {
  const { name, namespace = '', generation } = apply.metadata
  const proposed = record?.proposed
  if (!proposed || isOpen(record?.run) || apply.spec.speculativeFor !== undefined) {
    throw new CaptError('CAPT_PLAN_ABSENT', `no plan of ${namespace}/${name} waits for approval`, {
      hint:
        apply.spec.speculativeFor !== undefined
          ? 'it is speculative: change the apply that it is for'
          : isOpen(record?.run)
            ? `a run is in progress: capt logs ${name} --follow shows it`
            : `capt describe wtapply ${name} says what it waits for; capt retry ${name} plans again`,
    })
  }
  const shown = `capt plan ${name} shows the plan that waits`
  if (given !== undefined && (given.length < MIN_PREFIX || !proposed.hash.startsWith(given))) {
    throw new CaptError(
      'CAPT_PLAN_CHANGED',
      `plan ${given} is not the one of ${namespace}/${name} that waits for approval`,
      {
        hint: `${shown}: another plan needs an approval of its own, by at least ${MIN_PREFIX} characters of its hash`,
      },
    )
  }
  const { observedHash } = apply.status ?? {}
  const observed = conditionOf(apply, 'Ready')?.observedGeneration
  const isOutdated = observed !== undefined && generation !== undefined && observed < generation
  if (isOutdated || (observedHash !== undefined && observedHash !== proposed.inputs)) {
    throw new CaptError(
      'CAPT_PLAN_CHANGED',
      `plan ${proposed.hash} of ${namespace}/${name} was made for earlier inputs`,
      {
        hint: `it is planned again by itself; then ${shown}`,
      },
    )
  }
  if (Date.parse(proposed.expiresAt) <= nowMs) {
    throw new CaptError(
      'CAPT_PLAN_EXPIRED',
      `plan ${proposed.hash} of ${namespace}/${name} expired at ${proposed.expiresAt}`,
      {
        hint: `it is planned again by itself; then ${shown}`,
      },
    )
  }
  return proposed
}
