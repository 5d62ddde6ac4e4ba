// Who waits for whom among applies, read from the cache. An apply is made after those it waits for, and destroyed before
// them; a circle cannot be made, and must not keep anybody from being destroyed. A reference into another namespace
// counts only with the consent of its target: in waiting, in circles and in blocking deletion.
import {
  type AnyObject,
  allowsNamespace,
  isTrue,
  type Key,
  keyText,
  type ObjectRef,
  WorkspaceTemplateApply,
} from '#api'
import type { Cache, Projected } from '#kube'

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

export function findApply(cache: Cache, text: string): Apply | undefined {
  return cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, toKey(text))
}

/** Those that use a template with its consent. Others are refused, so they neither count nor block its deletion. */
export function usersOfTemplate(cache: Cache, template: AnyObject): readonly Apply[] {
  const value = refText(template.metadata, template.metadata.namespace)
  return cache
    .list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { index: BY_TEMPLATE, value, brief: true })
    .filter(({ metadata }) => allowsNamespace(template, metadata.namespace ?? ''))
}

/** The apply that a reference names, if it is there and lets `from` refer to it. */
function findAllowed(cache: Cache, from: AnyObject, text: string): Apply | undefined {
  const found = findApply(cache, text)
  return found && allowsNamespace(found, from.metadata.namespace ?? '') ? found : undefined
}

function toKey(text: string): Key {
  const [namespace = '', name = ''] = text.split('/')
  return { namespace, name }
}

/** Of those an apply waits for, the ones that are not ready, sorted. Without consent one might as well not exist. */
export function unreadyOf(cache: Cache, apply: WorkspaceTemplateApply): readonly string[] {
  return dependencyValues(apply)
    .filter((text) => {
      const other = findAllowed(cache, apply, text)
      return !other || !isTrue(other, 'Ready') || other.metadata.deletionTimestamp !== undefined
    })
    .sort()
}

/** Everything an apply waits for, near and far, by references that count. */
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

/** The circle an apply is in, from itself to itself; undefined when there is none. */
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
    .list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { index: BY_DEPENDENCY, value: own, brief: true })
    .filter((other) => allowsNamespace(apply, other.metadata.namespace ?? ''))
    .map((other) => refText(other.metadata, other.metadata.namespace))
    .filter((text) => text !== own && !reached.has(text))
    .sort()
}
