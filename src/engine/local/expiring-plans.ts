// Plans that outlived their run: kept for a runner that resumes it, and deleted when they expire. There is one timer for each
// of them, and only until the run is resumed.
import type { Objects } from '#kube'
import { type Clock, type Log, messageOf, type Timer } from '#lib'
import { toOwner } from '../owner.ts'
import type { RunRecord } from '../record/record.ts'
import { readRecord, writeRecord } from '../record/record-store.ts'
import { deletePlan, isExpired } from '../saved/plan.ts'
import type { ObjectKey } from '../workspace.ts'

interface ExpiringPlansOptions {
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  /** The time of a plan is over: its owner is looked at again. */
  onDue(key: ObjectKey): void
}

export interface ExpiringPlans {
  /** True when a plan was taken away, and the record changed with it. */
  check(key: ObjectKey, record: RunRecord): Promise<boolean>
  /** The run is not resumed: its plan is deleted at once. Returns the record without it. */
  drop(key: ObjectKey, record: RunRecord): Promise<RunRecord>
  stop(): void
}

export function createExpiringPlans({ objects, clock, log, onDue }: ExpiringPlansOptions): ExpiringPlans {
  const timers = new Map<string, Timer>()

  const wait = (key: ObjectKey, ms: number) => {
    const id = `${key.namespace}/${key.name}`
    if (timers.has(id)) return
    const due = () => {
      timers.delete(id)
      onDue(key)
    }
    timers.set(id, clock.after(ms, due))
  }

  return {
    async check(key, { plan }) {
      if (!plan) return false
      if (!isExpired(plan, clock.now())) {
        wait(key, Date.parse(plan.expiresAt) - clock.now())
        return false
      }
      try {
        await deletePlan(objects, key, plan)
        const seen = await readRecord(objects, key)
        if (seen?.record.plan?.id !== plan.id) return true
        const { plan: _expired, ...record } = seen.record
        return (await writeRecord(objects, toOwner(key), seen, record)) !== undefined
      } catch (error) {
        log.warn('Deleting an expired plan failed', { error: messageOf(error) })
        return false
      }
    },
    async drop(key, record) {
      const { plan, ...rest } = record
      if (!plan) return record
      try {
        await deletePlan(objects, key, plan)
        return rest
      } catch (error) {
        log.warn('Deleting the plan of a lost run failed', { error: messageOf(error) })
        return record
      }
    },
    stop() {
      for (const timer of timers.values()) timer.cancel()
      timers.clear()
    },
  }
}
