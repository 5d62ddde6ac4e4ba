// Bearer tokens that end: when one is replaced, how long its predecessor still works, and which are accepted.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { sha256 } from './hash.ts'

export interface TokenSet {
  readonly current: string
  readonly issuedAt: number
  /** Replaced tokens, the newest first. */
  readonly former: readonly { readonly token: string; readonly endsAt: number }[]
}

/** A third of its lifetime is left when a token is replaced: the time in which holders of copies take the new one. */
const overlapOf = (lifetimeMs: number): number => Math.round(lifetimeMs / 3)

export const DEFAULT_TOKEN_LIFETIME_MS = 90 * 86_400_000

/** Random text of this many bytes, for headers and links. */
export const newToken = (bytes: number): string => randomBytes(bytes).toString('base64url')

export const issueToken = (token: string, now: number): TokenSet => ({ current: token, issuedAt: now, former: [] })

export const replacedAt = ({ issuedAt }: TokenSet, lifetimeMs: number): number =>
  issuedAt + lifetimeMs - overlapOf(lifetimeMs)

/**
 * The same set when nothing is due. The overlap begins with the replacement, so that a home which was stopped for months
 * accepts the kubeconfigs from before for a while.
 */
export function rotateTokens(set: TokenSet, now: number, lifetimeMs: number, make: () => string): TokenSet {
  const former = set.former.filter(({ endsAt }) => endsAt > now)
  if (now >= replacedAt(set, lifetimeMs)) {
    const replaced = { token: set.current, endsAt: now + overlapOf(lifetimeMs) }
    return { current: make(), issuedAt: now, former: [replaced, ...former] }
  }
  return former.length === set.former.length ? set : { ...set, former }
}

export const validTokens = ({ current, former }: TokenSet, now: number): readonly string[] => [
  current,
  ...former.filter(({ endsAt }) => endsAt > now).map(({ token }) => token),
]

/** Every token is compared, and hashes have one length: a wrong one always takes the same time. */
export function isOneOf(token: string, valid: readonly string[]): boolean {
  const given = digest(token)
  return valid.filter((one) => timingSafeEqual(given, digest(one))).length > 0
}

const digest = (token: string): Buffer => Buffer.from(sha256(token))

/** How often to look: a token is replaced well within its overlap. */
export const checkEveryMs = (lifetimeMs: number): number => Math.min(3_600_000, lifetimeMs / 30)

export const toTokenText = (set: TokenSet): string => JSON.stringify(set)

/** Earlier versions stored the bare token: its age is unknown, so it counts from the first start that records ages. */
export function fromTokenText(text: string, now: number): TokenSet {
  return text.startsWith('{') ? (JSON.parse(text) as TokenSet) : issueToken(text, now)
}
