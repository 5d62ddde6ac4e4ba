// Dependencies between applies, read from the cache. An apply is created after its dependencies and destroyed before
// them; a cycle is refused, and must not block deletion. A reference into another namespace counts only when its target
// allows it: for waiting, for cycles and for blocking deletion.
import { type AnyObject, allowsNamespace, isTrue, keyText, type ObjectRef, toKey, WorkspaceTemplateApply } from '#api'
import type { Cache, Projected } from '#kube'
import { type ApplySummary, summarizeApply } from './summary.ts'

export const BY_DEPENDENCY = 'waitsFor'
export const BY_TEMPLATE = 'template'

type Apply = Projected<WorkspaceTemplateApply>

export function refText(ref: ObjectRef, namespace: string | undefined): string {
  return keyText({ namespace: ref.namespace ?? namespace ?? '', name: ref.name })
}

/** Index values: the applies an apply waits for. */
export function dependencyValues(object: AnyObject): readonly string[] {
  const { spec, metadata } = object as WorkspaceTemplateApply
  return (spec.waitForWorkspaces ?? []).map((ref) => refText(ref, metadata.namespace))
}

/** Index values: the template an apply uses. */
export function templateValues(object: AnyObject): readonly string[] {
  const { spec, metadata } = object as WorkspaceTemplateApply
  return [refText(spec.templateRef, metadata.namespace)]
}

function findApply(cache: Cache, text: string): Apply | undefined {
  return cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, toKey(text))
}

/** The applies that the template allows to use it. Others are refused, so they do not block its deletion. */
export function usersOfTemplate(cache: Cache, template: AnyObject): readonly ApplySummary[] {
  const value = refText(template.metadata, template.metadata.namespace)
  return cache
    .summaries(WorkspaceTemplateApply, summarizeApply, { index: BY_TEMPLATE, value })
    .filter(({ namespace }) => allowsNamespace(template, namespace))
}

/** The apply that a reference names, if it exists and allows `from` to refer to it. */
function findAllowed(cache: Cache, from: AnyObject, text: string): Apply | undefined {
  const found = findApply(cache, text)
  return found && allowsNamespace(found, from.metadata.namespace ?? '') ? found : undefined
}

/** The dependencies that are not ready, sorted. One that does not allow the reference counts as missing. */
export function unreadyOf(cache: Cache, apply: WorkspaceTemplateApply): readonly string[] {
  return dependencyValues(apply)
    .filter((text) => {
      const other = findAllowed(cache, apply, text)
      return !other || !isTrue(other, 'Ready') || other.metadata.deletionTimestamp !== undefined
    })
    .sort()
}

/** All transitive dependencies of an apply, by references that are allowed. */
function reachableFrom(cache: Cache, start: WorkspaceTemplateApply): ReadonlyMap<string, string | undefined> {
  const cameFrom = new Map<string, string | undefined>()
  const open: { readonly apply: WorkspaceTemplateApply; readonly at: string | undefined }[] = [
    { apply: start, at: undefined },
  ]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    for (const text of dependencyValues(next.apply)) {
      const other = findAllowed(cache, next.apply, text)
      if (!other || cameFrom.has(text)) continue
      cameFrom.set(text, next.at)
      open.push({ apply: other, at: text })
    }
  }
  return cameFrom
}

/** The cycle an apply is in, from itself to itself; undefined when there is none. */
export function cycleOf(cache: Cache, apply: WorkspaceTemplateApply): readonly string[] | undefined {
  const own = refText(apply.metadata, apply.metadata.namespace)
  const reached = reachableFrom(cache, apply)
  if (!reached.has(own)) return undefined
  const path = [own]
  for (let at = reached.get(own); at !== undefined; at = reached.get(at)) path.unshift(at)
  return [own, ...path]
}

/** Applies that still exist and wait for this one, unless this one waits for them as well. */
export function dependentsOf(cache: Cache, apply: WorkspaceTemplateApply): readonly string[] {
  const own = refText(apply.metadata, apply.metadata.namespace)
  const reached = reachableFrom(cache, apply)
  return cache
    .keys(WorkspaceTemplateApply, { index: BY_DEPENDENCY, value: own })
    .filter((other) => allowsNamespace(apply, other.namespace ?? ''))
    .map(keyText)
    .filter((text) => text !== own && !reached.has(text))
    .sort()
}
