// Leader election on a Lease: one holder at a time, measured by each candidate's own monotonic clock, so that clocks that
// disagree and processes that were paused cannot cause two. A holder that could not renew in time never becomes leader
// again: its process ends and is restarted.
import type { Key, Lease } from '#api'
import { LeaseKind } from '#api'
import { isKubeError, type Live, type Objects } from '#kube'
import { type Clock, type Log, messageOf, type Timer } from '#lib'

interface ElectionOptions {
  /** Best with a connection of its own: a renewal must not queue behind lists. */
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  readonly lease: Key
  /** Different for every process, also on the same host. */
  readonly identity: string
  /** Called once when leadership is lost. The process must exit. */
  readonly onLost: () => void
  readonly leaseDurationMs?: number
  readonly renewDeadlineMs?: number
  readonly retryPeriodMs?: number
}

export interface Election {
  /** Resolves when the lease is ours. Never rejects; a stop before leaves it pending. */
  readonly elected: Promise<void>
  /** True while the lease is ours and was renewed recently enough that no other candidate can have taken it. */
  holds(): boolean
  /** Gives the lease back if it is ours. Call it after all work has ended. */
  stop(): Promise<void>
}

interface ObservedLease {
  readonly record: string
  readonly at: number
}

export function runElection(options: ElectionOptions): Election {
  const { objects, clock, log, lease: key, identity } = options
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options
  const { promise: elected, resolve: onElected } = Promise.withResolvers<void>()
  let state: 'candidate' | 'leader' | 'lost' | 'stopped' = 'candidate'
  /** When the last renewing request was sent: other candidates measure from a later time, never an earlier one. */
  let renewedAt = Number.NEGATIVE_INFINITY
  let current: Live<Lease> | undefined
  let observed: ObservedLease | undefined
  let waitedFor: string | undefined
  let timer: Timer | undefined
  let watchdog: Timer | undefined
  let pending: Promise<unknown> = Promise.resolve()

  const isFresh = () => clock.monotonic() - renewedAt < renewDeadlineMs
  const hasEnded = () => state === 'stopped' || state === 'lost'
  const microTime = () => new Date(clock.now()).toISOString().replace('Z', '000Z')

  function claim(previous: Live<Lease> | undefined, at: string): Lease {
    const renews = previous?.spec?.holderIdentity === identity
    const transitions = previous?.spec?.leaseTransitions ?? 0
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: previous?.metadata ?? key,
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: renews ? (previous.spec?.acquireTime ?? at) : at,
        renewTime: at,
        leaseTransitions: renews || !previous ? transitions : transitions + 1,
      },
    }
  }

  /** A lease that does not change for its duration is free; the duration starts when the record was first observed. */
  function isFree(lease: Live<Lease>): boolean {
    const { holderIdentity = '', renewTime, leaseTransitions, leaseDurationSeconds = 0 } = lease.spec ?? {}
    if (holderIdentity === '' || holderIdentity === identity) return true
    const record = JSON.stringify([holderIdentity, renewTime, leaseTransitions])
    const now = clock.monotonic()
    if (observed?.record !== record) observed = { record, at: now }
    return now - observed.at >= Math.max(leaseDurationMs, leaseDurationSeconds * 1000)
  }

  /** Once per holder, so that a manager that waits does not look like one that hangs. */
  function reportHolder(holder: string): void {
    if (holder === waitedFor) return
    waitedFor = holder
    log.info('Another manager leads; waiting for its lease', { Lease: key.name, namespace: key.namespace, holder })
  }

  async function tryOnce(): Promise<number | undefined> {
    // The lease as last written is tried first; it is read again only after a refusal.
    current ??= await objects.get<Lease>(LeaseKind, key)
    if (current && !isFree(current)) {
      reportHolder(current.spec?.holderIdentity ?? '')
      current = undefined
      return undefined
    }
    // The election may have ended while the answer was on its way.
    if (hasEnded()) return undefined
    const sentAt = clock.monotonic()
    const draft = claim(current, microTime())
    const written = current ? objects.replace<Lease>(LeaseKind, draft) : objects.create<Lease>(LeaseKind, draft)
    current = undefined
    current = await written
    return sentAt
  }

  /** Gives up after half the deadline; a later answer is ignored. */
  async function attempt(): Promise<number | undefined> {
    const timeout = Promise.withResolvers<undefined>()
    const giveUp = clock.after(renewDeadlineMs / 2, () => timeout.resolve(undefined))
    try {
      return await Promise.race([tryOnce(), timeout.promise])
    } catch (error) {
      current = undefined
      if (!isKubeError(error, 'Conflict', 'AlreadyExists')) {
        log.warn('Could not reach the lease', { Lease: key.name, error: messageOf(error) })
      }
      return undefined
    } finally {
      giveUp.cancel()
    }
  }

  async function step(): Promise<void> {
    const trying = attempt()
    pending = trying
    const sentAt = await trying
    if (hasEnded()) return
    if (sentAt !== undefined) renewedAt = Math.max(renewedAt, sentAt)
    if (state === 'leader' && !isFresh()) {
      lose()
      return
    }
    if (sentAt !== undefined && isFresh()) guard()
    if (sentAt !== undefined && isFresh() && state === 'candidate') {
      state = 'leader'
      log.info('Became leader', { Lease: key.name, identity })
      onElected()
    }
    timer = clock.after(retryPeriodMs, () => void step())
  }

  function guard(): void {
    watchdog?.cancel()
    watchdog = clock.after(renewDeadlineMs - (clock.monotonic() - renewedAt), () => {
      if (state === 'leader' && !isFresh()) lose()
    })
  }

  function lose(): void {
    state = 'lost'
    timer?.cancel()
    watchdog?.cancel()
    log.error('Lost leadership', { Lease: key.name, identity })
    options.onLost()
  }

  async function release(): Promise<void> {
    try {
      const live = await objects.get<Lease>(LeaseKind, key)
      if (live?.spec?.holderIdentity !== identity) return
      const spec = { ...live.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() }
      await objects.replace<Lease>(LeaseKind, { ...live, spec })
      log.info('Released leadership', { Lease: key.name, identity })
    } catch (error) {
      log.warn('Could not release the lease; it runs out by itself', { Lease: key.name, error: messageOf(error) })
    }
  }

  void step()
  return {
    elected,
    holds: () => state === 'leader' && isFresh(),
    async stop() {
      const wasLeader = state === 'leader'
      if (state !== 'lost') state = 'stopped'
      timer?.cancel()
      watchdog?.cancel()
      if (!wasLeader) return
      await pending
      await release()
    },
  }
}
