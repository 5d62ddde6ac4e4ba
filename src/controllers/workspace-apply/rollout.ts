// A change of a template reaches every apply that uses it, a few at a time, oldest first. Those that fail keep their place,
// so a bad change stops by itself; an annotation on the template stops it by hand.
import type { WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import type { Cache, Projected } from '#kube'
import { refText, usersOfTemplate } from './dependencies.ts'

/** On a template: `paused` keeps applies that work from taking a change of it. */
export const ROLLOUT_ANNOTATION = 'capt.appthrust.com/rollout'
/** Applies that take a change at the same time. */
export const AT_ONCE = 3

export type Turn =
  | { readonly is: 'now' }
  | { readonly is: 'stopped' }
  | { readonly is: 'later'; readonly ahead: number }

/** Applied at least once, with an earlier generation of the template than the one that is there now. */
export function isBehind(apply: WorkspaceTemplateApply, template: WorkspaceTemplate): boolean {
  const { appliedHash, templateGeneration } = apply.status ?? {}
  return appliedHash !== undefined && templateGeneration !== template.metadata.generation
}

export function turnOf(cache: Cache, apply: Projected<WorkspaceTemplateApply>, template: WorkspaceTemplate): Turn {
  if (!isBehind(apply, template)) return { is: 'now' }
  // A person who changes the apply itself wants it now.
  const said = apply.status?.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration
  if (said !== undefined && said !== apply.metadata.generation) return { is: 'now' }
  if (template.metadata.annotations?.[ROLLOUT_ANNOTATION] === 'paused') return { is: 'stopped' }
  const ahead = usersOfTemplate(cache, template)
    .filter((other) => isBehind(other, template) && !other.metadata.deletionTimestamp && !other.spec.suspend)
    .filter((other) => isOlder(other, apply)).length
  return ahead < AT_ONCE ? { is: 'now' } : { is: 'later', ahead }
}

function isOlder(a: WorkspaceTemplateApply, b: WorkspaceTemplateApply): boolean {
  const [at, bt] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '']
  return at === bt ? refText(a.metadata, '') < refText(b.metadata, '') : at < bt
}
