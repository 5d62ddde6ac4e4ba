// Who led when, and who wrote while another led: read from the audit log of the API server alone. A term begins when the
// request for the Lease arrives and ends when that of the next leader does; a write that overlaps counts against its writer.
import { isWrite, type Request } from '../audit.ts'

export const LEASE = 'capt-controller-manager'

export interface Term {
  readonly user: string
  readonly from: number
  /** The last time it wrote the Lease. */
  readonly renewed: number
  readonly until: number
  readonly writes: number
}

/** Managers alone: runners come under the same names and go on when the leader changes. */
export const writesOfManagers = (requests: readonly Request[]): Request[] =>
  requests.filter((one) => one.agent === 'capt-manager' && isWrite(one) && one.code < 300)

export const isElection = ({ resource, name }: Request): boolean => resource === 'leases' && name === LEASE

export function termsOf(requests: readonly Request[]): Term[] {
  const writes = writesOfManagers(requests)
  const claims = writes.filter(isElection).sort((one, other) => one.until - other.until)
  const firsts = claims.filter(({ user }, i) => claims[i - 1]?.user !== user)
  return firsts.map(({ user, at: from }, i) => {
    const until = firsts[i + 1]?.at ?? Number.POSITIVE_INFINITY
    const own = writes.filter((one) => one.user === user && one.at >= from && one.until <= until)
    const renewed = Math.max(...own.filter(isElection).map((one) => one.at))
    return { user, from, until, renewed, writes: own.length }
  })
}

/** Writes that succeeded outside of every term of their writer. */
export function intrusions(requests: readonly Request[]): Request[] {
  const terms = termsOf(requests)
  const isWithin = (one: Request) => (term: Term) =>
    term.user === one.user && one.at >= term.from && one.until <= term.until
  return writesOfManagers(requests).filter((one) => !terms.some(isWithin(one)))
}
