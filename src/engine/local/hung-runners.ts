// Ends a runner of this machine that hangs: past its deadline, with a Lease that it does not renew. A stopped process
// reacts to nothing else, and a cancel or a deletion that waits for its end would wait for ever.
import { keyText } from '#api'
import type { Clock, Log, Timer } from '#lib'
import { LEASE_SECONDS } from '../lock/lease.ts'
import { livenessOf, type ProcessIdentity, signal } from '../lock/processes.ts'
import type { ObjectKey } from '../workspace.ts'
import type { HolderLiveness } from './holder-liveness.ts'

/** Beyond deadline and grace period a runner still saves its state and closes its run. */
const CLOSING_MS = 60_000
const SILENT_MS = LEASE_SECONDS * 1000

export interface HungRunners {
  /** From now on the runner has this long, and its grace period, to end. */
  expect(key: ObjectKey, runner: ProcessIdentity, withinMs: number): void
  ended(key: ObjectKey): void
  stop(): void
}

interface HungRunnersOptions {
  readonly clock: Clock
  readonly log: Log
  readonly holders: Pick<HolderLiveness, 'silence'>
  readonly graceMs: number
}

export function guardHungRunners({ clock, log, holders, graceMs }: HungRunnersOptions): HungRunners {
  const timers = new Map<string, Timer>()

  const check = async (id: string, key: ObjectKey, runner: ProcessIdentity): Promise<void> => {
    const silentMs = await holders.silence(key)
    if (!timers.has(id) || livenessOf(runner) !== 'alive') return
    if (silentMs !== undefined && silentMs >= SILENT_MS) {
      log.error('Killing a runner that hangs: it is past its deadline and does not renew its Lease', {
        WorkspaceTemplateApply: id,
        pid: runner.pid,
      })
      signal(-runner.pid, 'SIGKILL')
      return
    }
    // The Lease was renewed, or the API does not know: check again when it could have become silent.
    schedule(id, key, runner, Math.max(1000, SILENT_MS - (silentMs ?? 0)))
  }
  const schedule = (id: string, key: ObjectKey, runner: ProcessIdentity, ms: number) => {
    timers.get(id)?.cancel()
    timers.set(
      id,
      clock.after(ms, () => void check(id, key, runner)),
    )
  }

  return {
    expect: (key, runner, withinMs) => schedule(keyText(key), key, runner, withinMs + graceMs + CLOSING_MS),
    ended(key) {
      timers.get(keyText(key))?.cancel()
      timers.delete(keyText(key))
    },
    stop() {
      for (const timer of timers.values()) timer.cancel()
      timers.clear()
    },
  }
}
