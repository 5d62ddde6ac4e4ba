// Asks the API server who holds a token and whether they may read a path: TokenReview, then SubjectAccessReview.
// Answers are kept for a short while and in small number, and a flood of unknown tokens cannot become a flood of reviews.
import { type AnyObject, kindRef } from '#api'
import type { Objects } from '#kube'
import { type Clock, type Log, messageOf, sha256 } from '#lib'

const TokenReviewKind = kindRef('authentication.k8s.io/v1', 'TokenReview', false)
const SubjectAccessReviewKind = kindRef('authorization.k8s.io/v1', 'SubjectAccessReview', false)

interface User {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}
interface TokenReview extends AnyObject {
  readonly spec: { readonly token: string }
  readonly status?: { readonly authenticated?: boolean; readonly user?: User }
}
interface AccessReview extends AnyObject {
  readonly spec: object
  readonly status?: { readonly allowed?: boolean }
}

/** `unknown`: the API server could not be asked, or is being asked too much. */
export type Verdict = 'allowed' | 'unauthenticated' | 'forbidden' | 'unknown'
export type Review = (token: string | undefined, path: string) => Promise<Verdict>

const KEPT_MS: Record<Verdict, number> = { allowed: 60_000, forbidden: 10_000, unauthenticated: 10_000, unknown: 0 }
const MAX_KEPT = 100
const MAX_ASKING = 4

export function reviewByApiServer(options: { objects: Objects; clock: Clock; log: Log }): Review {
  const { objects, clock, log } = options
  const kept = new Map<string, { verdict: Verdict; until: number }>()
  const asking = new Map<string, Promise<Verdict>>()

  async function ask(token: string, path: string): Promise<Verdict> {
    const { status } = await objects.create<TokenReview>(TokenReviewKind, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: { name: '' },
      spec: { token },
    })
    if (!status?.authenticated || !status.user?.username) return 'unauthenticated'
    const { username, uid, groups, extra } = status.user
    const review = await objects.create<AccessReview>(SubjectAccessReviewKind, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: { name: '' },
      spec: { user: username, uid, groups, extra, nonResourceAttributes: { path, verb: 'get' } },
    })
    return review.status?.allowed ? 'allowed' : 'forbidden'
  }

  async function askOnce(id: string, token: string, path: string): Promise<Verdict> {
    try {
      const verdict = await ask(token, path)
      keep(id, verdict)
      return verdict
    } catch (error) {
      log.warn('Could not check who reads the metrics', { error: messageOf(error) })
      return 'unknown'
    } finally {
      asking.delete(id)
    }
  }

  function keep(id: string, verdict: Verdict): void {
    kept.delete(id)
    kept.set(id, { verdict, until: clock.monotonic() + KEPT_MS[verdict] })
    const oldest = kept.keys().next().value
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
  }

  return async (token, path) => {
    if (!token) return 'unauthenticated'
    const id = sha256(`${path}\n${token}`)
    const known = kept.get(id)
    if (known && known.until > clock.monotonic()) return known.verdict
    const pending = asking.get(id)
    if (pending) return pending
    if (asking.size >= MAX_ASKING) return 'unknown'
    const answer = askOnce(id, token, path)
    asking.set(id, answer)
    return answer
  }
}
