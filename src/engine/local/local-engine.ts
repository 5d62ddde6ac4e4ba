// Runs Terraform on this machine: one runner process per run, in a group of its own, so that neither our end nor our
// beginning matters to it. We keep no truth: the record has it, and a manager that starts finds every run again.
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import type { Key } from '#api'
import { messageOf, type Timer, toTimestamp } from '#lib'
import { findTerraform, type Tool } from '../find-terraform.ts'
import { forgetWorkspace } from '../forget.ts'
import { inspectWorkspace } from '../inspect.ts'
import { releaseDeadLock } from '../lock.ts'
import type { Owner } from '../owner.ts'
import { pause } from '../patient.ts'
import type { Activity, DrainOptions, Engine, StartRequest, WorkspaceView } from '../port.ts'
import { identityOf, livenessOf, ownIdentity, type ProcessIdentity, signal } from '../processes.ts'
import { packed } from '../record/packed.ts'
import { closeRun, isOpen, type Run, type RunRecord } from '../record/record.ts'
import { freshRecord, readRecord, type Versioned, writeRecord } from '../record/record-store.ts'
import { folderOf, folderPath, readFact, readText, writeFact } from '../runner/folder.ts'
import { stateInFolder } from '../runner/state-files.ts'
import type { Reconstruction } from '../state/reconstruct.ts'
import { stateSource } from '../state/sources.ts'
import type { ObjectKey } from '../workspace.ts'
import { createExpiringPlans } from './expiring-plans.ts'
import { observeHolders } from './holder-liveness.ts'
import { guardHungRunners } from './hung-runners.ts'
import {
  GRACE_SECONDS,
  type LocalEngineOptions,
  launchRunner,
  settleFor,
  startFailure,
  writeRequest,
} from './launch.ts'
import { CANCELLED, lostFault, openRun } from './open-run.ts'
import { createSlots } from './slots.ts'
import { createWatcher } from './watcher.ts'

const CONCURRENCY = 8
/** Nothing tells us how a run goes on that another manager holds: it is looked at this often. */
const LOOK_AGAIN_MS = 10_000
const DRAIN_LOOK_MS = 100

export type { LocalEngineOptions } from './launch.ts'

interface Waiting {
  readonly request: StartRequest
  readonly written: Versioned
}

export async function createLocalEngine(options: LocalEngineOptions): Promise<Engine> {
  const tool = await findTerraform(options.terraform ?? {})
  mkdirSync(options.workDir, { recursive: true, mode: 0o700 })
  return new LocalEngine(options, tool)
}

class LocalEngine implements Engine {
  readonly name: string
  readonly #options: LocalEngineOptions
  readonly #tool: Tool
  readonly #slots
  readonly #watcher
  readonly #plans
  readonly #listeners = new Set<(key: Key) => void>()
  /** Records as last seen; a run we watch is told by its report instead. */
  readonly #known = packed<RunRecord>()
  /** Runs of ours that wait for room: how to leave the line. */
  readonly #queued = new Map<string, { readonly runId: string; leave(): void }>()
  /** What they will begin with: a line may be a thousand long, and every one of them has its module in hand. */
  readonly #waiting = packed<Waiting>()
  /** Runs that others hold, and when they are looked at again. */
  readonly #foreign = new Map<string, Timer>()
  readonly #holders
  readonly #hung
  #isDraining = false

  constructor(options: LocalEngineOptions, tool: Tool) {
    this.name = `${tool.name} ${tool.version}`
    this.#options = options
    this.#tool = tool
    this.#slots = createSlots(options.concurrency ?? CONCURRENCY)
    this.#holders = observeHolders(options)
    const graceMs = (options.graceSeconds ?? GRACE_SECONDS) * 1000
    this.#hung = guardHungRunners({ ...options, holders: this.#holders, graceMs })
    this.#plans = createExpiringPlans({ ...options, onDue: (key) => this.#tell(key) })
    this.#watcher = createWatcher({
      clock: options.clock,
      log: options.log,
      onProgress: (key, record) => this.#learn(key, record),
      onEnd: (key, runId) => void this.#onEnd(key, runId),
    })
  }

  onChange(listener: (key: Key) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get running(): number {
    return this.#watcher.all().length
  }

  async drain({ askAfterMs, hurry, killAfterMs = Number.POSITIVE_INFINITY }: DrainOptions): Promise<void> {
    const { clock, log } = this.#options
    this.#isDraining = true
    // What waits in line has not begun: whoever manages next starts it.
    this.#leaveLines()
    if (this.running > 0) log.info('Waiting for Terraform runs to end', { runs: this.running })
    const began = clock.monotonic()
    let askedAt: number | undefined
    while (this.running > 0) {
      const now = clock.monotonic()
      if (askedAt === undefined && (hurry?.aborted || now - began >= askAfterMs)) {
        askedAt = now
        log.info('Asking Terraform to stop and to save its state', { runs: this.running })
        for (const { process } of this.#watcher.all()) if (process) signal(process.pid, 'SIGTERM')
      }
      if (askedAt !== undefined && now - askedAt >= killAfterMs) this.#killAll()
      await pause(clock, DRAIN_LOOK_MS)
    }
  }

  #killAll(): void {
    for (const { folder, process } of this.#watcher.all()) {
      const terraform = readFact({ path: folder }, 'process')?.process
      if (process) signal(-process.pid, 'SIGKILL')
      if (terraform && livenessOf(terraform) === 'alive') signal(-terraform.pid, 'SIGKILL')
    }
  }

  #leaveLines(): void {
    for (const { leave } of this.#queued.values()) leave()
    this.#queued.clear()
  }

  async stop(): Promise<void> {
    this.#isDraining = true
    this.#watcher.stop()
    this.#hung.stop()
    this.#leaveLines()
    for (const timer of this.#foreign.values()) timer.cancel()
    this.#foreign.clear()
    this.#plans.stop()
  }

  async observe(key: ObjectKey): Promise<WorkspaceView> {
    const id = idOf(key)
    const record = this.#recall(id) ?? (await this.#refresh(key))?.record
    const run = record?.run
    const cancelling = run !== undefined && readFact({ path: run.folder }, 'cancel')?.runId === run.id
    if (this.#watcher.isWatching(id)) return { record, activity: 'running', cancelling }
    const activity = isOpen(run) ? await this.#activityOf(key, run) : 'idle'
    if (record && (activity === 'idle' || activity === 'unreachable') && (await this.#plans.look(key, record)))
      await this.#refresh(key)
    return { record: this.#known.get(id) ?? record, activity, cancelling: isOpen(run) && cancelling }
  }

  /** A run that somebody else may change is never remembered: an operator's statement takes effect at once. */
  #recall(id: string): RunRecord | undefined {
    const record = this.#known.get(id)
    const isOurs = !isOpen(record?.run) || this.#watcher.isWatching(id) || this.#queued.has(id)
    return isOurs ? record : undefined
  }

  async start(request: StartRequest): Promise<void> {
    const { owner } = request
    const id = idOf(owner)
    if (this.#isDraining || this.#watcher.isWatching(id)) return
    const seen = await this.#refresh(owner)
    // Another manager may have been at work: whoever decided on older news decides again.
    if (request.basedOn && request.basedOn.runId !== seen?.record.run?.id) return this.#tell(owner)
    if (isOpen(seen?.record.run)) {
      if ((await this.#activityOf(owner, seen.record.run)) !== 'lost') return
      await this.#releaseDeadLock(owner)
    }
    const { clock, workDir } = this.#options
    const folder = folderPath(workDir, owner)
    const record = openRun(seen?.record ?? freshRecord(request.expected), request, folder, toTimestamp(clock.now()))
    if (this.#slots.take()) {
      await this.#begin(request, seen, record)
      return
    }
    const written = await this.#write(owner, seen, record)
    if (!written) return
    this.#waiting.set(id, { request, written })
    const leave = this.#slots.enter(owner.namespace, () => void this.#beginLater(id))
    if (leave) this.#queued.set(id, { runId: written.record.run!.id, leave })
    this.#tell(owner)
  }

  /** Nobody waits for the answer of a run that stood in line: it is told like any other news. */
  async #beginLater(id: string): Promise<void> {
    const { request, written } = this.#waiting.get(id)!
    this.#waiting.delete(id)
    try {
      await this.#begin(request, written, written.record)
    } catch (error) {
      this.#options.log.error('Starting a runner failed', { error: messageOf(error) })
      this.#known.delete(id)
      this.#tell(request.owner)
    } finally {
      this.#queued.delete(id)
    }
  }

  /** The place is taken by then. A runner is there before the record names it, and does nothing before that is written. */
  async #begin(request: StartRequest, seen: Versioned | undefined, record: RunRecord): Promise<void> {
    const { owner, workspace } = request
    const run = record.run!
    let child: ChildProcess | undefined
    try {
      child = launchRunner(run.folder, this.#options)
      if (child.pid === undefined) throw await startFailure(child)
      const runner = identityOf(child.pid)
      const claimed: RunRecord = runner ? { ...record, run: { ...run, phase: 'Init', runner } } : record
      const written = await this.#write(owner, seen, claimed)
      if (!written) {
        this.#dismiss(child)
        return
      }
      this.#options.log.info('Starting run', {
        WorkspaceTemplateApply: idOf(owner),
        run: run.id,
        verb: run.verb,
        attempt: run.attempt,
      })
      const key = { namespace: owner.namespace, name: owner.name }
      this.#watcher.watchChild(key, run.id, run.folder, child, workspace?.logToManager ?? false)
      if (runner) this.#hung.expect(key, runner, run.timeoutSeconds * 1000)
      void this.#instruct(child, request, written)
      this.#tell(owner)
    } catch (error) {
      this.#dismiss(child)
      throw error
    }
  }

  #dismiss(child: ChildProcess | undefined): void {
    child?.kill('SIGKILL')
    this.#slots.leave()
  }

  /** Whatever goes wrong here, the runner finds out by itself. */
  async #instruct(child: ChildProcess, request: StartRequest, written: Versioned): Promise<void> {
    try {
      writeRequest(request, written, this.#tool, this.#options)
      child.stdin?.end(JSON.stringify(await settleFor(written, request, this.#tool, this.#options)))
    } catch (error) {
      this.#options.log.warn('Preparing a run for its runner failed', { error: messageOf(error) })
      child.stdin?.end()
    }
  }

  async #onEnd(key: ObjectKey, runId: string): Promise<void> {
    this.#slots.leave()
    this.#hung.ended(key)
    this.#holders.forget(key)
    const id = idOf(key)
    const { log, workDir } = this.#options
    // One that was adopted may lie below the folder of another manager.
    const known = this.#known.get(id)?.run
    const folder = known?.id === runId ? known.folder : folderPath(workDir, key)
    const report = readFact({ path: folder }, 'report')
    const isClosed = report?.record.run?.id === runId && !isOpen(report.record.run)
    if (isClosed && report.saved) this.#known.set(id, report.record)
    else {
      log.warn('A runner ended without closing its run', { WorkspaceTemplateApply: id, run: runId })
      this.#known.delete(id)
    }
    this.#tell(key)
  }

  async cancel(key: ObjectKey, runId: string): Promise<void> {
    const id = idOf(key)
    const waiting = this.#queued.get(id)
    const seen = await this.#refresh(key)
    const run = seen?.record.run
    if (!isOpen(run) || run.id !== runId) return
    if (waiting?.runId === runId) {
      waiting.leave()
      this.#queued.delete(id)
      this.#waiting.delete(id)
      await this.#close(key, seen!, 'Cancelled')
      return
    }
    writeFact({ path: run.folder }, 'cancel', { runId, reason: 'cancelled' })
    const runner = run.runner ?? this.#watcher.identityOf(id)
    if (runner && livenessOf(runner) === 'alive') {
      signal(runner.pid, 'SIGTERM')
      this.#hung.expect(key, runner, 0)
    }
  }

  async abandon(owner: Owner): Promise<void> {
    const seen = await this.#refresh(owner)
    if (isOpen(seen?.record.run) && (await this.#activityOf(owner, seen.record.run)) === 'lost') {
      await this.#close(owner, { ...seen, record: await this.#plans.drop(owner, seen.record) }, 'Lost')
    }
    await this.#releaseDeadLock(owner)
    this.#tell(owner)
  }

  async reconstruct(owner: Owner, status?: number): Promise<Reconstruction> {
    const folder = folderOf(folderPath(this.#options.workDir, owner))
    const inFolder = readFact(folder, 'owner')
    const isForgotten = inFolder?.workspaceId === this.#known.get(idOf(owner))?.forgotten?.workspaceId
    const isOurs = inFolder?.uid === owner.uid && !isForgotten
    const text = isOurs ? (stateInFolder(folder) ?? readText(folder.stateCopy)) : undefined
    return inspectWorkspace(this.#options.objects, owner, { folder: stateSource(text), status })
  }

  async #releaseDeadLock(key: ObjectKey): Promise<void> {
    await releaseDeadLock(this.#options.objects, key, (holder) => this.#holders.isProvenDead(key, holder))
  }

  async forget(owner: Owner, options: Parameters<Engine['forget']>[1]): Promise<void> {
    await forgetWorkspace(this.#options.objects, owner, options)
    rmSync(folderPath(this.#options.workDir, owner), { recursive: true, force: true })
    this.#known.delete(idOf(owner))
  }

  async #close(key: ObjectKey, seen: Versioned, phase: 'Cancelled' | 'Lost'): Promise<void> {
    const run = seen.record.run!
    const fault = phase === 'Lost' ? lostFault(run) : CANCELLED
    // Only a run that stood in line is closed as cancelled here: it never began.
    const isUntouched = phase === 'Cancelled'
    const closed = closeRun(seen.record, phase, toTimestamp(this.#options.clock.now()), fault, isUntouched)
    await this.#write({ ...key, uid: '', apiVersion: '', kind: '' }, seen, closed)
    this.#tell(key)
  }

  /** Undefined when somebody else was faster; then we know what they wrote. */
  async #write(owner: Owner, seen: Versioned | undefined, record: RunRecord): Promise<Versioned | undefined> {
    const written = await writeRecord(this.#options.objects, owner, seen, record)
    if (written) {
      this.#known.set(idOf(owner), written.record)
      return written
    }
    const now = await this.#refresh(owner)
    // The answer may have been lost on the way: a record with our run in it was written by us.
    if (isSameWrite(now?.record.run, record.run)) return now
    this.#tell(owner)
    return undefined
  }

  async #refresh(key: ObjectKey): Promise<Versioned | undefined> {
    // Forgotten first: a record that cannot be read must not be remembered as it was before it was damaged.
    this.#known.delete(idOf(key))
    const seen = await readRecord(this.#options.objects, { namespace: key.namespace, name: key.name })
    if (seen) this.#known.set(idOf(key), seen.record)
    return seen
  }

  async #activityOf(key: ObjectKey, run: Run): Promise<Activity> {
    const id = idOf(key)
    if (this.#queued.get(id)?.runId === run.id) return 'running'
    const who = run.runner ?? run.holder
    const life = await this.#holders.of(key, who)
    if (life === 'alive' && run.runner) {
      this.#adopt(key, run, run.runner)
      return 'running'
    }
    // A manager that holds a run without a runner is about to start one, unless it is us and we are not.
    if (life === 'alive') return isOurs(who) ? 'lost' : this.#lookLater(key)
    if (life === 'waiting') return this.#lookLater(key)
    // Nothing begins before the record names a runner, and whoever writes it later sees that we did.
    if (life === 'unknown') return run.runner ? 'unreachable' : 'lost'
    return (await this.#takeReport(key, run)) ? 'idle' : 'lost'
  }

  #adopt(key: ObjectKey, run: Run, runner: ProcessIdentity): void {
    this.#slots.occupy()
    this.#options.log.info('Found a run under way', { WorkspaceTemplateApply: idOf(key), run: run.id })
    this.#watcher.watchProcess({ namespace: key.namespace, name: key.name }, run.id, run.folder, runner)
    this.#hung.expect(key, runner, timeLeftMs(run, this.#options.clock.now()))
  }

  #lookLater(key: ObjectKey): Activity {
    const id = idOf(key)
    if (!this.#foreign.has(id)) {
      const look = () => {
        this.#foreign.delete(id)
        // Its holder may have written meanwhile; a run that is ours by now is known better.
        if (!this.#watcher.isWatching(id) && !this.#queued.has(id)) this.#known.delete(id)
        this.#tell(key)
      }
      this.#foreign.set(id, this.#options.clock.after(LOOK_AGAIN_MS, look))
    }
    return 'running'
  }

  /** A runner that could not reach the API server in time has left its last word in the folder. */
  async #takeReport(key: ObjectKey, run: Run): Promise<boolean> {
    const report = readFact({ path: run.folder }, 'report')
    const told = report?.record.run
    if (!report || told?.id !== run.id || isOpen(told)) return false
    const seen = await this.#refresh(key)
    if (!isOpen(seen?.record.run) || seen.record.run.id !== run.id) return true
    return (await this.#write({ ...key, uid: '', apiVersion: '', kind: '' }, seen, report.record)) !== undefined
  }

  #learn(key: ObjectKey, record: RunRecord): void {
    this.#known.set(idOf(key), record)
    this.#tell(key)
  }

  #tell(key: ObjectKey): void {
    for (const listener of this.#listeners) listener({ namespace: key.namespace, name: key.name })
  }
}

function isOurs(who: ProcessIdentity): boolean {
  const me = ownIdentity()
  return who.pid === me.pid && who.start === me.start
}

/** Whether the record of a run is the one that we tried to write: the answer to a write may be lost on its way. */
function isSameWrite(now: Run | undefined, tried: Run | undefined): boolean {
  const isSameRunner = now?.runner?.pid === tried?.runner?.pid && now?.runner?.start === tried?.runner?.start
  return now?.id === tried?.id && now?.resumed === tried?.resumed && isSameRunner
}

/** Of a run that began on this machine; one that was resumed began later than its record says. */
function timeLeftMs({ startedAt, resumed, timeoutSeconds }: Run, nowMs: number): number {
  const wholeMs = timeoutSeconds * 1000
  const passedMs = resumed > 0 ? 0 : nowMs - Date.parse(startedAt)
  return Math.min(wholeMs, Math.max(0, wholeMs - passedMs))
}

const idOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`
