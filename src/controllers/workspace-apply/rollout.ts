// Rollout of a template change to its applies: a few at a time, oldest first. A failed apply keeps its slot, so a bad
// change stops by itself; an annotation on the template stops it by hand.
import { keyText, type WorkspaceTemplate, type WorkspaceTemplateApply } from '#api'
import type { Cache, Projected } from '#kube'
import { usersOfTemplate } from './dependencies.ts'
import { type ApplySummary, summarizeApply } from './summary.ts'

/** On a template: `paused` stops the rollout of its changes. */
const ROLLOUT_ANNOTATION = 'capt.appthrust.com/rollout'
/** Applies that may take a change at the same time. */
const AT_ONCE = 3

export type RolloutSlot =
  | { readonly is: 'now' }
  | { readonly is: 'stopped' }
  | { readonly is: 'later'; readonly ahead: number }

/** Applied at least once, with an earlier generation of the template. */
export function isBehind(
  { appliedHash, templateGeneration }: Pick<ApplySummary, 'appliedHash' | 'templateGeneration'>,
  template: WorkspaceTemplate,
): boolean {
  return appliedHash !== undefined && templateGeneration !== template.metadata.generation
}

export function slotOf(
  cache: Cache,
  apply: Projected<WorkspaceTemplateApply>,
  template: WorkspaceTemplate,
): RolloutSlot {
  const own = summarizeApply(apply)
  if (!isBehind(own, template)) return { is: 'now' }
  // A change of the apply itself does not wait.
  const reported = apply.status?.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration
  if (reported !== undefined && reported !== apply.metadata.generation) return { is: 'now' }
  if (template.metadata.annotations?.[ROLLOUT_ANNOTATION] === 'paused') return { is: 'stopped' }
  const ahead = usersOfTemplate(cache, template)
    .filter((other) => isBehind(other, template) && !other.isDeleting && !other.isSuspended)
    .filter((other) => isOlder(other, own)).length
  return ahead < AT_ONCE ? { is: 'now' } : { is: 'later', ahead }
}

function isOlder(a: ApplySummary, b: ApplySummary): boolean {
  return a.createdAt === b.createdAt ? keyText(a) < keyText(b) : a.createdAt < b.createdAt
}
