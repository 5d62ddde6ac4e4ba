// Runs Terraform on this machine: one runner process per run, in a group of its own, so that neither our end nor our
// beginning matters to it. We keep no truth: the record has it, and a manager that starts finds every run again.
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { type Key, type Lease, LeaseKind } from '#api'
import { messageOf, type Timer, toTimestamp } from '#lib'
import { findTerraform, type Tool } from '../find-terraform.ts'
import { forgetWorkspace } from '../forget.ts'
import { inspectWorkspace } from '../inspect.ts'
import { releaseDeadLock } from '../lock.ts'
import { leaseName, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { Activity, Engine, StartRequest, WorkspaceView } from '../port.ts'
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
import { type LocalEngineOptions, launchRunner, settleFor, startFailure, writeRequest } from './launch.ts'
import { CANCELLED, lostFault, openRun } from './open-run.ts'
import { createSlots } from './slots.ts'
import { createWatcher } from './watcher.ts'

const CONCURRENCY = 8
/** A heartbeat older than this is silence. */
const SILENCE_MS = 60_000
/** Nothing tells us how a run goes on that another manager holds: it is looked at this often. */
const LOOK_AGAIN_MS = 10_000

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

  constructor(options: LocalEngineOptions, tool: Tool) {
    this.name = `${tool.name} ${tool.version}`
    this.#options = options
    this.#tool = tool
    this.#slots = createSlots(options.concurrency ?? CONCURRENCY)
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

  async stop(): Promise<void> {
    this.#watcher.stop()
    for (const { leave } of this.#queued.values()) leave()
    this.#queued.clear()
    for (const timer of this.#foreign.values()) timer.cancel()
    this.#foreign.clear()
    this.#plans.stop()
  }

  async observe(key: ObjectKey): Promise<WorkspaceView> {
    const id = idOf(key)
    const record = this.#known.get(id) ?? (await this.#refresh(key))?.record
    const run = record?.run
    const cancelling = run !== undefined && readFact({ path: run.folder }, 'cancel')?.runId === run.id
    if (this.#watcher.isWatching(id)) return { record, activity: 'running', cancelling }
    const activity = isOpen(run) ? await this.#activityOf(key, run) : 'idle'
    if (record && (activity === 'idle' || activity === 'unreachable') && (await this.#plans.look(key, record)))
      await this.#refresh(key)
    return { record: this.#known.get(id) ?? record, activity, cancelling: isOpen(run) && cancelling }
  }

  async start(request: StartRequest): Promise<void> {
    const { owner } = request
    const id = idOf(owner)
    if (this.#watcher.isWatching(id)) return
    const seen = await this.#refresh(owner)
    // Another manager may have been at work: whoever decided on older news decides again.
    if (request.basedOn && request.basedOn.runId !== seen?.record.run?.id) return this.#tell(owner)
    if (isOpen(seen?.record.run) && (await this.#activityOf(owner, seen.record.run)) !== 'lost') return
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
    if (runner && livenessOf(runner) === 'alive') signal(runner.pid, 'SIGTERM')
  }

  async abandon(owner: Owner): Promise<void> {
    const seen = await this.#refresh(owner)
    if (isOpen(seen?.record.run) && (await this.#activityOf(owner, seen.record.run)) === 'lost') {
      await this.#close(owner, { ...seen, record: await this.#plans.drop(owner, seen.record) }, 'Lost')
    }
    await releaseDeadLock(this.#options.objects, owner)
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
    if (now?.record.run?.id === record.run?.id && now?.record.run?.resumed === record.run?.resumed) return now
    this.#tell(owner)
    return undefined
  }

  async #refresh(key: ObjectKey): Promise<Versioned | undefined> {
    const seen = await readRecord(this.#options.objects, { namespace: key.namespace, name: key.name })
    if (seen) this.#known.set(idOf(key), seen.record)
    else this.#known.delete(idOf(key))
    return seen
  }

  async #activityOf(key: ObjectKey, run: Run): Promise<Activity> {
    const id = idOf(key)
    if (this.#queued.get(id)?.runId === run.id) return 'running'
    const who = run.runner ?? run.holder
    const life = livenessOf(who)
    if (life === 'alive' && run.runner) {
      this.#adopt(key, run, run.runner)
      return 'running'
    }
    // A manager that holds a run without a runner is about to start one, unless it is us and we are not.
    if (life === 'alive') return isOurs(who) ? 'lost' : this.#lookLater(key)
    if (life === 'unknown') return (await this.#isBeating(key)) ? this.#lookLater(key) : 'unreachable'
    return (await this.#takeReport(key, run)) ? 'idle' : 'lost'
  }

  #adopt(key: ObjectKey, run: Run, runner: ProcessIdentity): void {
    this.#slots.occupy()
    this.#options.log.info('Found a run under way', { WorkspaceTemplateApply: idOf(key), run: run.id })
    this.#watcher.watchProcess({ namespace: key.namespace, name: key.name }, run.id, run.folder, runner)
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

  async #isBeating(key: ObjectKey): Promise<boolean> {
    const name = leaseName(suffixOf(key))
    const lease = await this.#options.objects.get<Lease>(LeaseKind, { namespace: key.namespace, name })
    const renewed = Date.parse(lease?.spec?.renewTime ?? '')
    return this.#options.clock.now() - renewed < SILENCE_MS
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

const idOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`
