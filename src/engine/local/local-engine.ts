// Runs Terraform on this machine: one runner process per run, in a group of its own, so that it outlives the manager. The
// record has the truth: a manager that starts adopts every run.
import { mkdirSync, rmSync } from 'node:fs'
import { type Key, keyText } from '#api'
import { messageOf, toTimestamp } from '#lib'
import { observeLock, releaseDeadLock } from '../lock/lock.ts'
import { livenessOf, signal } from '../lock/processes.ts'
import { type Owner, toOwner } from '../owner.ts'
import type { ApplyFacts, DrainOptions, Engine, StartRequest, WorkspaceView } from '../port.ts'
import { placeOf } from '../queue/place.ts'
import type { QueuedRun } from '../queue/run-queue.ts'
import { isReplacement } from '../record/rebuild.ts'
import { closeRun, isOpen, type Run, type RunRecord } from '../record/record.ts'
import { replaceRecord, type Versioned } from '../record/record-store.ts'
import { forgetWorkspace } from '../recovery/forget.ts'
import { inspectWorkspace } from '../recovery/inspect.ts'
import { folderOf, folderPath, readFact, readOwnFolder, readText, writeFact } from '../runner/inputs/folder.ts'
import { stateInFolder } from '../runner/state/state-files.ts'
import type { Reconstruction } from '../state/reconstruct.ts'
import { stateSource } from '../state/sources.ts'
import { type ToolChoice, toolFor } from '../tool/choose-tool.ts'
import { findTools, type Tool } from '../tool/find-terraform.ts'
import type { ObjectKey } from '../workspace.ts'
import { drainRunners } from './drain.ts'
import { createExpiringPlans, type ExpiringPlans } from './expiring-plans.ts'
import type { LocalEngineOptions } from './launch.ts'
import { CANCELLED, lostFault, openRun } from './open-run.ts'
import { RunActivity } from './run-activity.ts'
import { RunStarter } from './run-starter.ts'
import { createServices, type LocalServices } from './services.ts'

export type { LocalEngineOptions } from './launch.ts'

export async function createLocalEngine(options: LocalEngineOptions): Promise<Engine> {
  const tools = await findTools(options.terraform ?? {})
  mkdirSync(options.workDir, { recursive: true, mode: 0o700 })
  return new LocalEngine(options, tools)
}

class LocalEngine implements Engine {
  readonly name: string
  readonly #services: LocalServices
  readonly #starter: RunStarter
  readonly #activity: RunActivity
  readonly #plans: ExpiringPlans
  readonly #listeners = new Set<(key: Key) => void>()
  #isDraining = false

  constructor(options: LocalEngineOptions, tools: readonly Tool[]) {
    this.name = `${tools[0]!.name} ${tools[0]!.version}`
    this.#services = createServices(options, tools, {
      onProgress: (key, record) => this.#onProgress(key, record),
      onEnd: (key, runId) => this.#onEnd(key, runId),
      notify: (key) => this.#notify(key),
    })
    this.#starter = new RunStarter(this.#services)
    this.#activity = new RunActivity(this.#services)
    this.#plans = createExpiringPlans({ ...options, onDue: (key) => this.#notify(key) })
  }

  toolFor(request: Pick<StartRequest, 'verb' | 'workspace'>, record: RunRecord | undefined): ToolChoice {
    return toolFor(this.#services.tools, request, record?.bundle?.tool)
  }

  onChange(listener: (key: Key) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get running(): number {
    return this.#services.watcher.all().length
  }

  async drain(options: DrainOptions): Promise<void> {
    this.#isDraining = true
    this.#services.queue.clear()
    await drainRunners(this.#services.watcher, options, this.#services.options)
  }

  async stop(): Promise<void> {
    this.#isDraining = true
    this.#services.watcher.stop()
    this.#services.hung.stop()
    this.#services.queue.clear()
    this.#activity.stop()
    this.#plans.stop()
  }

  async observe(key: ObjectKey): Promise<WorkspaceView> {
    const id = keyText(key)
    const record = this.#cached(key) ?? (await this.#services.records.refresh(key))?.record
    const run = record?.run
    const cancelling = run !== undefined && readFact({ path: run.folder }, 'cancel')?.runId === run.id
    if (this.#services.watcher.isWatching(id)) return { record, activity: 'running', cancelling }
    const activity = isOpen(run) ? await this.#activity.of(key, run) : 'idle'
    if (record && (activity === 'idle' || activity === 'unreachable') && (await this.#plans.check(key, record)))
      await this.#services.records.refresh(key)
    const queue = this.#services.queue.positionOf(key)
    const view = { record: this.#services.records.get(key) ?? record, activity, cancelling: isOpen(run) && cancelling }
    return queue ? { ...view, queue } : view
  }

  /** A run that another process may change is always read again: an operator's statement takes effect at once. */
  #cached(key: ObjectKey): RunRecord | undefined {
    const record = this.#services.records.get(key)
    const mayChange = isOpen(record?.run) || (record !== undefined && isReplacement(record))
    const isOurs = !mayChange || this.#services.watcher.isWatching(keyText(key)) || this.#services.queue.has(key)
    return isOurs ? record : undefined
  }

  async start(request: StartRequest): Promise<void> {
    const { owner } = request
    const id = keyText(owner)
    if (this.#isDraining || this.#services.watcher.isWatching(id)) return
    const seen = await this.#services.records.refreshOrReplace(owner, request)
    // Another manager may have been at work: a decision on an older record is made again.
    if (request.basedOn && request.basedOn.runId !== seen?.record.run?.id) return this.#notify(owner)
    if (isOpen(seen?.record.run)) {
      if ((await this.#activity.of(owner, seen.record.run)) !== 'lost') return
      await this.#releaseDeadLock(owner)
    } else if (seen && mayHoldLock(seen.record.run)) await this.#releaseHolder(owner)
    const { clock, objects, workDir, countTagged } = this.#services.options
    const folder = folderPath(workDir, owner)
    const before = seen?.record ?? (await replaceRecord(objects, owner, request, countTagged))
    const record = openRun(before, request, folder, toTimestamp(clock.now()))
    if (this.#services.queue.enter(placeOf(request, seen?.record))) {
      await this.#starter.begin(request, seen, record)
      return
    }
    await this.#enqueue(request, seen, record)
    this.#notify(owner)
  }

  /** It keeps its place while its record is written. */
  async #enqueue(request: StartRequest, seen: Versioned | undefined, record: RunRecord): Promise<void> {
    const { queue, records } = this.#services
    let written: Versioned | undefined
    try {
      written = await records.write(request.owner, seen, record)
    } finally {
      if (!written) queue.leave(request.owner)
    }
    if (written) queue.add({ request, written }, this.#beginQueued)
  }

  /**
   * The caller of start has returned by then: a failure is reported like any other change. One function for all runs: one
   * that start makes would hold its whole request in memory.
   */
  readonly #beginQueued = async ({ request, written }: QueuedRun): Promise<void> => {
    try {
      await this.#starter.begin(request, written, written.record)
    } catch (error) {
      this.#services.options.log.error('Starting a runner failed', { error: messageOf(error) })
      this.#services.records.delete(request.owner)
      this.#notify(request.owner)
    }
  }

  #onEnd(key: ObjectKey, runId: string): void {
    this.#services.queue.leave(key)
    this.#services.hung.ended(key)
    const id = keyText(key)
    const { log, workDir } = this.#services.options
    // One that was adopted may lie below the folder of another manager.
    const known = this.#services.records.get(key)?.run
    const folder = known?.id === runId ? known.folder : folderPath(workDir, key)
    const report = readFact({ path: folder }, 'report')
    const isClosed = report?.record.run?.id === runId && !isOpen(report.record.run)
    // The silence of a holder that kept us out goes on; of any other nothing more is asked.
    if (report?.record.run?.fault?.code !== HOLDER_UNKNOWN) this.#services.holders.forget(key)
    if (isClosed && report.saved) this.#services.records.set(key, report.record)
    else {
      log.warn('A runner ended without closing its run', { WorkspaceTemplateApply: id, run: runId })
      this.#services.records.delete(key)
    }
    this.#notify(key)
  }

  async cancel(key: ObjectKey, runId: string): Promise<void> {
    const id = keyText(key)
    const queued = this.#services.queue.runIdOf(key)
    const seen = await this.#services.records.refreshIfWhole(key)
    const run = seen?.record.run
    // A record that was lost under its run does not name it; we watch its runner all the same.
    const isLost = !run && this.#services.watcher.isWatching(id)
    if (!isLost && (!isOpen(run) || run.id !== runId)) return
    if (queued === runId) {
      this.#services.queue.remove(key)
      await this.#close(key, seen!, 'Cancelled')
      return
    }
    const path = run?.folder ?? folderPath(this.#services.options.workDir, key)
    writeFact({ path }, 'cancel', { runId, reason: 'cancelled' })
    const runner = run?.runner ?? this.#services.watcher.identityOf(id)
    if (runner && livenessOf(runner) === 'alive') {
      signal(runner.pid, 'SIGTERM')
      this.#services.hung.expect(key, runner, 0)
    }
  }

  async abandon(owner: Owner): Promise<void> {
    const seen = await this.#services.records.refresh(owner)
    if (isOpen(seen?.record.run) && (await this.#activity.of(owner, seen.record.run)) === 'lost') {
      await this.#close(owner, { ...seen, record: await this.#plans.drop(owner, seen.record) }, 'Lost')
    }
    await this.#releaseDeadLock(owner)
    this.#notify(owner)
  }

  async reconstruct(owner: Owner, facts: ApplyFacts = {}): Promise<Reconstruction> {
    const folder = folderOf(folderPath(this.#services.options.workDir, owner))
    const inFolder = readFact(folder, 'owner')
    const isForgotten = inFolder?.workspaceId === this.#services.records.get(owner)?.forgotten?.workspaceId
    const isOurs = inFolder?.uid === owner.uid && !isForgotten
    const text = isOurs ? (stateInFolder(folder) ?? readText(folder.stateCopy)) : undefined
    const { objects, countTagged } = this.#services.options
    const workspaceId = isOurs ? inFolder?.workspaceId : facts.workspaceId
    return inspectWorkspace(objects, owner, { ...facts, folder: stateSource(text), workspaceId, countTagged })
  }

  /** The last runner closed its run elsewhere and died before it released the lock. */
  async #releaseHolder(owner: Owner): Promise<void> {
    const { holders, options } = this.#services
    const lock = await observeLock(options.objects, owner)
    if (lock.is === 'ours' && (await holders.of(owner, lock.holder)) === 'dead') await this.#releaseDeadLock(owner)
  }

  async #releaseDeadLock(key: ObjectKey): Promise<void> {
    await releaseDeadLock(this.#services.options.objects, key, (holder) =>
      this.#services.holders.isProvenDead(key, holder),
    )
  }

  async forget(owner: Owner, options: Parameters<Engine['forget']>[1]): Promise<void> {
    const path = folderPath(this.#services.options.workDir, owner)
    await forgetWorkspace(this.#services.options.objects, owner, options, readOwnFolder({ path }, owner)?.report)
    rmSync(path, { recursive: true, force: true })
    this.#services.records.delete(owner)
  }

  async #close(key: ObjectKey, seen: Versioned, phase: 'Cancelled' | 'Lost'): Promise<void> {
    const run = seen.record.run!
    const fault = phase === 'Lost' ? lostFault(run) : CANCELLED
    // Only a queued run is closed as cancelled here: it never began.
    const isUntouched = phase === 'Cancelled'
    const closed = closeRun(seen.record, phase, toTimestamp(this.#services.options.clock.now()), fault, isUntouched)
    await this.#services.records.write(toOwner(key), seen, closed)
    this.#notify(key)
  }

  #onProgress(key: ObjectKey, record: RunRecord): void {
    this.#services.records.set(key, record)
    this.#notify(key)
  }

  #notify(key: ObjectKey): void {
    for (const listener of this.#listeners) listener({ namespace: key.namespace, name: key.name })
  }
}

const HOLDER_UNKNOWN = 'CAPT_RUN_HOLDER_UNKNOWN'

/** A closed run whose runner cannot be looked for here, or one that the lock kept out. */
function mayHoldLock(run: Run | undefined): boolean {
  if (!run || isOpen(run)) return false
  return run.fault?.code === HOLDER_UNKNOWN || livenessOf(run.runner ?? run.holder) === 'unknown'
}
