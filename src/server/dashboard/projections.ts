// What informers of the page keep of an object. Values that may hold a secret are dropped while decoding, so that nothing
// behind it can send them.
import type { AnyObject } from '#api'

export interface PageEvent extends AnyObject {
  readonly type?: string
  readonly reason?: string
  readonly note?: string
  readonly eventTime?: string
  readonly regarding?: { readonly kind?: string; readonly name?: string; readonly namespace?: string }
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string }
  readonly deprecatedCount?: number
  readonly deprecatedLastTimestamp?: string
}

type Fields = Readonly<Record<string, unknown>>

/** Variables and values are plain text in the spec, and outputs belong to the connection Secret. */
export function leanApply(object: AnyObject): AnyObject {
  const { spec, status, ...rest } = object as AnyObject & { readonly spec?: Fields; readonly status?: Fields }
  const { variables: _variables, values: _values, ...leanSpec } = spec ?? {}
  const { outputs: _outputs, ...leanStatus } = status ?? {}
  return { ...rest, spec: leanSpec, status: leanStatus } as AnyObject
}

export function leanEvent(object: AnyObject): AnyObject {
  const { apiVersion, kind, metadata, regarding, type, reason, note, eventTime, series, ...more } = object as PageEvent
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
  const { deprecatedCount, deprecatedLastTimestamp } = more
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    regarding: { kind: regarding?.kind, name: regarding?.name, namespace: regarding?.namespace },
    type,
    reason,
    note,
    eventTime,
    series,
    deprecatedCount,
    deprecatedLastTimestamp,
  } as AnyObject
}
