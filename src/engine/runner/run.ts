// One run, from claim to close. Whatever happens to us, whoever comes after finds things in an order that lets them go on:
// record before lock, lock before state, frozen inputs before anything is made, saved state before the record is closed.
import { mkdirSync, rmSync } from 'node:fs'
import { CaptError, isCaptError, messageOf } from '#lib'
import { acquireLock, type Lock, lockOf, RENEW_MS } from '../lock.ts'
import { isPassing, patientObjects, pause } from '../patient.ts'
import { livenessOf, ownIdentity } from '../processes.ts'
import { followsLostRun, type Suspect, suspectsInFlight } from '../record/record.ts'
import { closeRecord } from './close.ts'
import { guardDisk, hasRoom } from './disk.ts'
import { diskFull, RunFailure, toRunFault } from './failure.ts'
import { folderOf, pruneLogs, type RunRequest, readFact, removeFact } from './folder.ts'
import { isFor } from './handover.ts'
import { rebuildLostRecord, settleOwner } from './inputs.ts'
import { rootOf, wipeCredentials } from './prepare.ts'
import { RecordKeeper } from './record-keeper.ts'
import { type RunnerWorld, Session } from './session.ts'
import { suspectsAfter, suspectsOf } from './suspects.ts'
import { hasTraces, waitForOrphan } from './terraform-process.ts'
import { work } from './work.ts'
import { WorkspaceState } from './workspace-state.ts'

export type { RunnerWorld } from './session.ts'

/** Beyond the deadline and the grace period, this long is waited for an API server that is away; then the runner ends. */
const SAVE_PATIENCE_MS = 10 * 60_000
const LOCK_PATIENCE_MS = 60_000
const LOCK_LOOK_MS = 200

/** `done`: closed. `not-ours`: another runner has it, or it is over. `unsaved`: the folder knows more than the server. */
export type RunEnd = 'done' | 'not-ours' | 'unsaved'

export async function runOnce(path: string, world: RunnerWorld): Promise<RunEnd> {
  const folder = folderOf(path)
  const request = readFact(folder, 'request')
  if (!request) {
    throw new CaptError('CAPT_RUN_UNKNOWN', `there is no run in ${path}`, {
      hint: 'runs are started by capt up and capt manager, not by hand',
    })
  }
  const { clock, log } = world
  const deadline = clock.monotonic() + request.timeoutSeconds * 1000
  const lastMs = deadline + request.graceSeconds * 1000 + SAVE_PATIENCE_MS
  const isHopeless = () => world.canReturn?.() === false
  const objects = patientObjects(world.objects, { clock, log, until: () => lastMs, isHopeless })
  const handover = world.handover && isFor(world.handover, request.runId) ? world.handover : undefined
  const known = handover ? { ...request, seen: handover.seen } : request
  const keeper = await RecordKeeper.claim(objects, known, folder, handover?.seen.record.run?.runner ?? ownIdentity())
  if (!keeper) return 'not-ours'
  return new Runner(new Session(folder, request, keeper, { ...world, objects, handover })).run()
}

class Runner {
  readonly #session: Session
  #lock: Lock | undefined
  #state: WorkspaceState | undefined
  /** At first by the record alone: a run that comes no further than the lock must not lose them. */
  #suspects: readonly Suspect[]

  constructor(session: Session) {
    this.#session = session
    this.#suspects = suspectsInFlight(session.keeper.record.run!)
  }

  async run(): Promise<RunEnd> {
    const { folder, world } = this.#session
    const unwatch = this.#session.watchTime()
    const beat = setInterval(() => void this.#renew(), RENEW_MS)
    try {
      const failure = await this.#attempt()
      if (failure !== undefined) world.log.warn('Run failed', { error: this.#session.redact(messageOf(failure)) })
      return await this.#close(failure)
    } finally {
      unwatch()
      clearInterval(beat)
      this.#state?.stop()
      wipeCredentials(folder)
    }
  }

  /** Returns what went wrong, if anything did. */
  async #attempt(): Promise<unknown> {
    const { request, stopping } = this.#session
    let freeDisk = () => {}
    try {
      await this.#takeLock(request)
      if (!hasRoom(request.shared)) throw new RunFailure(diskFull())
      freeDisk = guardDisk(request.shared, () => stopping.request('disk'))
      this.#state = await this.#takeUp()
      await work(this.#session, this.#state, this.#suspects)
      return undefined
    } catch (error) {
      return error ?? new Error('something threw nothing')
    } finally {
      freeDisk()
    }
  }

  async #takeLock({ owner, runId, verb, tool }: RunRequest): Promise<void> {
    const { objects, clock, handover } = this.#session.world
    if (handover?.isLocked) {
      this.#lock = lockOf(objects, clock, owner, runId)
      return
    }
    const holder = ownIdentity()
    const ask = () => acquireLock(objects, clock, { owner, runId, verb, holder, toolVersion: tool.version })
    let answer = await ask()
    // A runner of this machine that has closed its run is about to let go.
    const until = clock.monotonic() + LOCK_PATIENCE_MS
    while (answer.is === 'busy' && livenessOf(answer.holder) === 'alive' && clock.monotonic() < until) {
      await pause(clock, LOCK_LOOK_MS)
      answer = await ask()
    }
    if (answer.is === 'held') {
      this.#lock = answer.lock
      return
    }
    if (answer.is === 'foreign') {
      throw new RunFailure({
        kind: 'locked',
        code: 'CAPT_STATE_LOCKED',
        message: `the state is locked by somebody else: ${answer.who}`,
        hint: `wait for them; if they are gone for good: ${answer.command}`,
      })
    }
    throw new RunFailure({
      kind: 'locked',
      code: 'CAPT_RUN_HOLDER_UNKNOWN',
      message: `the state is locked by a run on ${answer.holder.host} that cannot be proven dead`,
      hint: `end process ${answer.holder.pid} on ${answer.holder.host}, or let it finish`,
    })
  }

  /** Waits for what an earlier runner left at work, learns from what it left behind, and settles which state holds. */
  async #takeUp(): Promise<WorkspaceState> {
    const { folder, request, keeper, stopping, world } = this.#session
    const { objects, clock, log, handover } = world
    const { owner, workspace, graceSeconds, runId, verb } = request
    const isTakeOver = followsLostRun(keeper.record)
    // A folder that is gone has no traces of a Terraform that is still at work in it.
    const mayHaveOrphan = isTakeOver || hasTraces(folder)
    await rebuildLostRecord(this.#session)
    const { record } = keeper
    settleOwner(folder, owner, record)
    mkdirSync(folder.work, { recursive: true, mode: 0o700 })
    const state = await WorkspaceState.open(
      {
        objects,
        owner,
        folder,
        clock,
        log,
        runId,
        verb,
        record: () => keeper.record,
        announce: (change) => keeper.update(change),
        onFenced: () => stopping.request('fenced'),
        say: (text) => this.#session.say(text),
      },
      { seen: handover?.saved, isTakeOver },
    )
    // Known from here on: what the orphan makes is saved even if the rest fails.
    this.#state = state
    if (
      mayHaveOrphan &&
      (await waitForOrphan(folder, { clock, stop: stopping.signal, graceMs: graceSeconds * 1000 }))
    ) {
      this.#session.say('The runner before this one was gone; its Terraform has ended now')
    }
    await state.settle(workspace ? rootOf(folder, workspace) : folder.work, workspace !== undefined)
    this.#suspects = suspectsAfter(folder.messages, state.info?.addresses ?? [], record.run!)
    for (const { address } of this.#suspects) {
      this.#session.say(`${address} was being worked on when Terraform was killed; look at it`)
    }
    const more = record.run?.inFlight?.more ?? 0
    if (more > 0) this.#session.say(`${more} more were being worked on, which nobody wrote down by name`)
    for (const path of [folder.messages, folder.errors]) rmSync(path, { force: true })
    return state
  }

  async #close(failure: unknown): Promise<RunEnd> {
    const { trace, request, keeper, stopping, world } = this.#session
    keeper.progress((record) => ({ ...record, run: { ...record.run!, phase: 'Save' } }))
    let fault = failure === undefined ? undefined : toRunFault(failure)
    try {
      await Promise.all([
        this.#state?.flush(trace.terraform !== undefined),
        trace.plans?.drop(),
        // Whoever has paused us may be about to move what lies here.
        fault?.kind === 'paused' ? undefined : trace.bundles?.sweep(),
      ])
    } catch (error) {
      // Without an API server nothing is closed: the folder has the state, and whoever comes next begins with it.
      if (isPassing(error)) return this.#giveUp(error)
      fault ??= toRunFault(error)
    }
    if (fault) this.#session.say(`Failed: ${fault.message}`)
    if (trace.terraform && (trace.terraform.wasKilled || stopping.reason === 'folder')) {
      const known = new Set(this.#state?.info?.addresses)
      this.#suspects = [...this.#suspects, ...suspectsOf(trace.terraform.progress, known, request.runId)]
    }
    try {
      await closeRecord(this.#session, this.#state, this.#suspects, fault)
    } catch (error) {
      return this.#giveUp(error)
    }
    try {
      // While we hold the lock the folder is ours.
      this.#tidy()
      await this.#lock?.release()
    } catch (error) {
      world.log.warn('Cleaning up failed', { error: messageOf(error) })
    }
    return 'done'
  }

  #giveUp(error: unknown): RunEnd {
    this.#session.world.log.error('Closing the run failed', { error: this.#session.redact(messageOf(error)) })
    return 'unsaved'
  }

  /** What only an interrupted run needs is not left lying about: some of it is secret. */
  #tidy(): void {
    const { folder, keeper, request } = this.#session
    for (const path of [folder.messages, folder.errors, folder.plan, folder.vars]) {
      rmSync(path, { recursive: true, force: true })
    }
    for (const fact of ['cancel', 'request'] as const) {
      if (readFact(folder, fact)?.runId === request.runId) removeFact(folder, fact)
    }
    pruneLogs(folder, keeper.record.history)
  }

  async #renew(): Promise<void> {
    try {
      await this.#lock?.renew()
    } catch (error) {
      this.#session.say(`Renewing the lock failed: ${messageOf(error)}`)
      if (isCaptError(error, 'CAPT_LOCK_LOST')) this.#session.stopping.request('fenced')
    }
  }
}
