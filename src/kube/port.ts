// What other modules may ask of an API server. The client, the informers and the in-memory fake implement it; one contract
// suite (contract.ts) runs over all of them.
import type { AnyObject, Key, KindRef } from '#api'
import { CaptError } from '#lib'

declare const live: unique symbol
declare const projected: unique symbol

/** Read from the server just now, whole. May be written back. */
export type Live<T extends AnyObject> = T & { readonly [live]?: true }

/**
 * Read from a cache: unused fields were dropped while decoding (managedFields, last-applied, and what the
 * kind's projection leaves out). It may be stale and it must never be sent back to a server: no write takes it.
 */
export type Projected<T extends AnyObject> = T & { readonly [projected]: true }

/** Refuses a Projected object at compile time: `create(kind, cached)` does not type-check. */
export type Writable<T extends AnyObject> = T & { readonly [projected]?: never }

export interface ListOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

export type Patch =
  /** RFC 7386. Carry metadata.resourceVersion in the body to be refused with a conflict when the object moved on. */
  | { readonly type: 'merge'; readonly body: object }
  /** RFC 6902. */
  | { readonly type: 'json'; readonly body: readonly object[] }

/** Called right before the request is sent, on every attempt; what it throws is the answer. */
export interface Permitted {
  readonly permit?: () => void
}

export interface WriteOptions extends Permitted {
  readonly subresource?: 'status' | 'scale' | 'token' | 'eviction'
  readonly fieldManager?: string
  /** Of an apply: false refuses with `Conflict` to take a field from another manager; forced otherwise. */
  readonly force?: boolean
  readonly dryRun?: boolean
}

export interface DeleteOptions extends Permitted {
  /** Delete only this very object (uid) or only this version of it. */
  readonly uid?: string
  readonly resourceVersion?: string
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
}

/** Live reads and writes. Every method may throw KubeError. */
export interface Objects {
  /** Undefined when it does not exist. A kind that the server does not serve throws `KindNotServed`. */
  get<T extends AnyObject>(kind: KindRef, key: Key): Promise<Live<T> | undefined>
  /** Pages on the wire, one object at a time here: a whole list is never in memory. */
  list<T extends AnyObject>(kind: KindRef, options?: ListOptions): AsyncIterable<Live<T>>
  /** `AlreadyExists` when the name is taken. */
  create<T extends AnyObject>(kind: KindRef, object: Writable<T>, options?: WriteOptions): Promise<Live<T>>
  /** PUT; needs metadata.resourceVersion. For objects we read live only. */
  replace<T extends AnyObject>(kind: KindRef, object: Writable<T>, options?: WriteOptions): Promise<Live<T>>
  /** `NotFound` and `Conflict` are thrown. */
  patch<T extends AnyObject>(kind: KindRef, key: Key, patch: Patch, options?: WriteOptions): Promise<Live<T>>
  /** Server-side apply, forced, with a fixed field manager (`capt` unless given). Creates when absent. */
  apply<T extends AnyObject>(kind: KindRef, object: Writable<T>, options?: WriteOptions): Promise<Live<T>>
  /** Forgives an object that is already gone. */
  delete(kind: KindRef, key: Key, options?: DeleteOptions): Promise<void>
}

/** Synchronous reads of what informers hold. Asking for a kind without an informer is a programming error and throws. */
export interface Cache {
  get<T extends AnyObject>(kind: KindRef, key: Key): Projected<T> | undefined
  list<T extends AnyObject>(kind: KindRef, query?: CacheQuery): readonly Projected<T>[]
  /** The keys alone: cheaper than a list. */
  keys(kind: KindRef, query?: CacheQuery): readonly Key[]
  /**
   * One value per object, for reading many at once. The cache computes it when an object changes, not for each call, and
   * keeps it by function: pass one that is defined once, and keep its result small.
   */
  summaries<S>(kind: KindRef, summarize: Summarize<S>, query?: CacheQuery): readonly S[]
}

export type Summarize<S> = (object: AnyObject) => S

export interface CacheQuery {
  readonly namespace?: string
  /** A registered index and the value to look up, e.g. `{ index: 'template', value: 'default/vpc' }`. */
  readonly index?: string
  readonly value?: string
}

export type KubeErrorReason =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'Forbidden'
  | 'Unauthorized'
  | 'Expired'
  | 'TooManyRequests'
  /** Of an eviction: the PodDisruptionBudget of the pod allows none now. */
  | 'DisruptionBudget'
  | 'KindNotServed'
  | 'NamespaceTerminating'
  | 'Unreachable'
  | 'BadAnswer'
  | 'ServerError'

/** Any answer that is not a success. Match on `reason`, never on text. `code` is CAPT_KUBE_<REASON>. */
export class KubeError extends CaptError {
  readonly reason: KubeErrorReason
  readonly status: number | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    reason: KubeErrorReason,
    message: string,
    options: { hint?: string; cause?: unknown; at?: string; status?: number; retryAfterSeconds?: number } = {},
  ) {
    super(`CAPT_KUBE_${reason.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}`, message, options)
    this.name = 'KubeError'
    this.reason = reason
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

export function isKubeError(error: unknown, ...reasons: readonly KubeErrorReason[]): error is KubeError {
  return error instanceof KubeError && (reasons.length === 0 || reasons.includes(error.reason))
}

/** For `catch`: these refusals count as done; every other error is thrown again. */
export function ignore(...reasons: readonly KubeErrorReason[]): (error: unknown) => void {
  return (error) => {
    if (!isKubeError(error, ...reasons)) throw error
  }
}

/** Records Kubernetes events; a repeat of the same event only raises its count. Never throws. */
export interface Events {
  emit(about: AnyObject, event: { type: 'Normal' | 'Warning'; reason: string; message: string; action?: string }): void
}

export interface Change {
  readonly type: 'added' | 'updated' | 'deleted'
  readonly object: Projected<AnyObject>
  readonly old?: Projected<AnyObject>
}

export interface InformerOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  /** Ask the server for metadata alone: contents are neither sent nor decoded. */
  readonly metadataOnly?: boolean
  /** Runs while decoding, on each object, before anything is kept. managedFields and last-applied are always dropped. */
  readonly project?: (object: AnyObject) => AnyObject
  /** Values under which `Cache.list({ index, value })` finds an object. */
  readonly indexes?: Readonly<Record<string, (object: AnyObject) => readonly string[]>>
  /** Skips the event when an update changes nothing of the projection: for kinds that others write often. */
  readonly ignoreUnchanged?: boolean
}

/**
 * List and watch: resumes, lists again on 410, backs off with jitter, one list in flight per process. One informer per
 * group and kind, whatever the version. A write of `Objects` through the same connection is visible at once.
 */
export interface Informers extends Cache {
  /** Registering a kind again adds its indexes; before `start` only. */
  register(kind: KindRef, options?: InformerOptions): void
  onChange(kind: KindRef, handler: (change: Change) => void): void
  start(): void
  /** Resolves when every registered kind has been listed once. */
  synced(signal?: AbortSignal): Promise<void>
  stop(): Promise<void>
}
