// What every write needs to know about its request and its realm.
import type { Clock } from '#lib'
import type { Registry, Served } from '../kinds/registry.ts'
import type { Owner } from '../merge/managed-fields.ts'
import type { RealmStore } from '../store/store.ts'

export interface World {
  readonly store: RealmStore
  readonly registry: Registry
  readonly clock: Clock
  /** Random letters for generated names; injected so that tests can know them. */
  suffix(): string
}

export interface WriteRequest extends Served {
  readonly world: World
  /** Empty for kinds without namespaces. */
  readonly namespace: string
  readonly subresource?: 'status' | 'scale' | 'finalize' | undefined
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore'
  /** Fields that stood twice in the body. */
  readonly duplicates?: readonly string[]
  /** Set by server-side apply, which knows better than a comparison who owns what. */
  readonly applied?: readonly Owner[]
  warn(text: string): void
}
