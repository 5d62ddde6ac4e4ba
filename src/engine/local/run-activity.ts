// Decides whether a runner works on an open run: one of this machine, one of another manager, or none.
import { keyText } from '#api'
import type { Timer } from '#lib'
import { ownIdentity, type ProcessIdentity } from '../lock/processes.ts'
import { toOwner } from '../owner.ts'
import type { Activity } from '../port.ts'
import { placeOfOpen } from '../queue/place.ts'
import { isOpen, type Run } from '../record/record.ts'
import { readFact } from '../runner/inputs/folder.ts'
import type { ObjectKey } from '../workspace.ts'
import type { LocalServices } from './services.ts'

/** Nothing notifies us about a run that another manager holds: it is checked this often. */
const CHECK_AGAIN_MS = 10_000

export class RunActivity {
  readonly #services: LocalServices
  /** Runs that others hold, and when they are checked again. */
  readonly #foreign = new Map<string, Timer>()

  constructor(services: LocalServices) {
    this.#services = services
  }

  stop(): void {
    for (const timer of this.#foreign.values()) timer.cancel()
    this.#foreign.clear()
  }

  async of(key: ObjectKey, run: Run): Promise<Activity> {
    if (this.#services.queue.runIdOf(key) === run.id) return 'running'
    const who = run.runner ?? run.holder
    const life = await this.#services.holders.of(key, who)
    if (life === 'alive' && run.runner) {
      this.#adopt(key, run, run.runner)
      return 'running'
    }
    // A manager that holds a run without a runner is about to start one, unless it is us and we are not.
    if (life === 'alive') return isOurs(who) ? 'lost' : this.#checkLater(key)
    if (life === 'waiting') return this.#checkLater(key)
    // Nothing begins before the record names a runner, and a manager that writes the record later sees our write.
    if (life === 'unknown') return run.runner ? 'unreachable' : 'lost'
    return (await this.#closeByReport(key, run)) ? 'idle' : 'lost'
  }

  #adopt(key: ObjectKey, run: Run, runner: ProcessIdentity): void {
    this.#services.queue.occupy(placeOfOpen(key, run))
    this.#services.options.log.info('Found a run under way', { WorkspaceTemplateApply: keyText(key), run: run.id })
    this.#services.watcher.watchProcess({ namespace: key.namespace, name: key.name }, run.id, run.folder, runner)
    this.#services.hung.expect(key, runner, timeLeftMs(run, this.#services.options.clock.now()))
  }

  #checkLater(key: ObjectKey): Activity {
    const id = keyText(key)
    if (!this.#foreign.has(id)) {
      const check = () => {
        this.#foreign.delete(id)
        // Its holder may have written meanwhile; a run that is ours by now is known better.
        if (!this.#services.watcher.isWatching(id) && !this.#services.queue.has(key)) this.#services.records.delete(key)
        this.#services.notify(key)
      }
      this.#foreign.set(id, this.#services.options.clock.after(CHECK_AGAIN_MS, check))
    }
    return 'running'
  }

  /** A runner that could not reach the API server in time has left the closed record in the folder. */
  async #closeByReport(key: ObjectKey, run: Run): Promise<boolean> {
    const report = readFact({ path: run.folder }, 'report')
    const reported = report?.record.run
    if (!report || reported?.id !== run.id || isOpen(reported)) return false
    const seen = await this.#services.records.refresh(key)
    if (!isOpen(seen?.record.run) || seen.record.run.id !== run.id) return true
    return (await this.#services.records.write(toOwner(key), seen, report.record)) !== undefined
  }
}

function isOurs(who: ProcessIdentity): boolean {
  const me = ownIdentity()
  return who.pid === me.pid && who.start === me.start
}

/** Of a run that began on this machine; one that was resumed began later than its record says. */
function timeLeftMs({ startedAt, resumed, timeoutSeconds }: Run, nowMs: number): number {
  const wholeMs = timeoutSeconds * 1000
  const passedMs = resumed > 0 ? 0 : nowMs - Date.parse(startedAt)
  return Math.min(wholeMs, Math.max(0, wholeMs - passedMs))
}
