// The rules of an API server about one object, as pure functions: what a write may change, what is left out, what a
// selector chooses.
import { type AnyObject, apiVersionOf, groupKindOf, type KindRef } from '#api'
import { type DeleteOptions, KubeError } from '#kube'
import { isPlainObject, ownValueAt } from '#lib'

export type Draft = Record<string, unknown> & { metadata: Record<string, unknown> }

/** Metadata that belongs to the server. */
export const FIXED_METADATA = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
]

/** Status writes change the status alone, other writes everything but the status; identity is never changed. */
export function merged(old: AnyObject, wanted: Draft, isStatus: boolean): Draft {
  const before = structuredClone(old) as unknown as Draft
  if (isStatus) {
    const { status: _status, ...rest } = before
    return (wanted['status'] === undefined ? rest : { ...rest, status: wanted['status'] }) as Draft
  }
  const draft: Draft = { ...wanted, metadata: { ...wanted.metadata } }
  for (const field of [...FIXED_METADATA, 'resourceVersion', 'name', 'namespace']) {
    if (before.metadata[field] === undefined) delete draft.metadata[field]
    else draft.metadata[field] = before.metadata[field]
  }
  if (before['status'] === undefined) delete draft['status']
  else draft['status'] = before['status']
  return draft
}

/** Empty metadata collections are left out, stringData becomes data, the type is the one asked for. */
export function normalize(kind: KindRef, draft: Draft): Draft {
  draft['apiVersion'] = apiVersionOf(kind)
  draft['kind'] = kind.kind
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
    const value = draft.metadata[field]
    if (value === null || value === undefined || Object.keys(value).length === 0) delete draft.metadata[field]
  }
  if (groupKindOf(kind) === '/Secret' && isPlainObject(draft['stringData'])) {
    const texts = Object.entries(draft['stringData']).map(([name, text]) => [name, toBase64(String(text))])
    draft['data'] = { ...(draft['data'] as object | undefined), ...Object.fromEntries(texts) }
    delete draft['stringData']
  }
  return draft
}

export function withoutStatusAndMetadata(object: object): object {
  const { metadata: _metadata, status: _status, apiVersion: _version, ...rest } = object as Record<string, unknown>
  return rest
}

export function checkPreconditions(kind: KindRef, object: AnyObject, how: DeleteOptions): void {
  for (const field of ['uid', 'resourceVersion'] as const) {
    if (how[field] === undefined || how[field] === object.metadata[field]) continue
    const message = `${kind.plural} "${object.metadata.name}": the ${field} in the precondition differs`
    throw new KubeError('Conflict', message, { status: 409 })
  }
}

export function matchesFields(object: AnyObject, selector: string | undefined): boolean {
  return (selector ?? '')
    .split(',')
    .filter(Boolean)
    .every((part) => {
      const [, path, operator, value] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part) ?? []
      if (path === undefined)
        throw new KubeError('Invalid', `fieldSelector: "${part}" is not a requirement`, { status: 400 })
      const found = ownValueAt(object, path.split('.'))
      return (String(found ?? '') === value) === (operator !== '!=')
    })
}

/** A copy, so that callers cannot change what is stored. */
export function asVersion(kind: KindRef, object: AnyObject | undefined): AnyObject | undefined {
  return object && { ...structuredClone(object), apiVersion: apiVersionOf(kind) }
}

function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
