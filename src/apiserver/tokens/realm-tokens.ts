// The tokens of one realm: kept in the store, replaced before they end.
import {
  type Clock,
  fromTokenText,
  isOneOf,
  issueToken,
  newToken,
  replacedAt,
  rotateTokens,
  type TokenSet,
  toTokenText,
  validTokens,
} from '#lib'
import type { Store } from '../store/store.ts'

export interface RealmTokens {
  current(): string
  /** When the current token will be replaced. */
  replacedAt(): number
  /** When it stops working, if it is replaced on time. */
  endsAt(): number
  accepts(token: string): boolean
  /** Replaces the token if it is due; true when there is another one now. */
  rotate(): boolean
}

interface RealmTokensOptions {
  readonly store: Pick<Store, 'realms' | 'addRealm' | 'setToken'>
  readonly clock: Clock
  readonly lifetimeMs: number
}

const make = (): string => newToken(32)

/** Makes the realm and its first token where there is none. */
export function openRealmTokens(path: string, { store, clock, lifetimeMs }: RealmTokensOptions): RealmTokens {
  const stored = store.realms().find((realm) => realm.path === path)?.token
  let set: TokenSet
  if (stored === undefined) {
    set = issueToken(make(), clock.now())
    store.addRealm(path, toTokenText(set), clock.now())
  } else {
    set = fromTokenText(stored, clock.now())
    if (toTokenText(set) !== stored) store.setToken(path, toTokenText(set))
  }
  return {
    current: () => set.current,
    replacedAt: () => replacedAt(set, lifetimeMs),
    endsAt: () => set.issuedAt + lifetimeMs,
    accepts: (token) => isOneOf(token, validTokens(set, clock.now())),
    rotate() {
      const next = rotateTokens(set, clock.now(), lifetimeMs, make)
      if (next === set) return false
      store.setToken(path, toTokenText(next))
      const isReplaced = next.current !== set.current
      set = next
      return isReplaced
    },
  }
}
