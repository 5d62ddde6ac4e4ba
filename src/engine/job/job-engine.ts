// Runs Terraform in Kubernetes: one Job per run, with the same runner program in its pod. This process starts nothing
// itself; the record has the truth, and the end of a pod notifies us.
import { type Key, keyText } from '#api'
import { isCaptError, messageOf, type Timer, toTimestamp } from '#lib'
import type { RunFault } from '../faults/faults.ts'
import { createExpiringPlans, type ExpiringPlans } from '../local/expiring-plans.ts'
import { type HolderLiveness, observeHolders } from '../local/holder-liveness.ts'
import { CANCELLED, lostFault, openRun } from '../local/open-run.ts'
import { RecordCache } from '../local/record-cache.ts'
import { LEASE_SECONDS } from '../lock/lease.ts'
import { observeLock, RENEW_MS, releaseDeadLock } from '../lock/lock.ts'
import { livenessOf, ownIdentity, type ProcessIdentity } from '../lock/processes.ts'
import { type Owner, toOwner } from '../owner.ts'
import type { Activity, ApplyFacts, Engine, ForgetOptions, StartRequest, WorkspaceView } from '../port.ts'
import { defaultLimits } from '../queue/limits.ts'
import { placeOf, placeOfOpen } from '../queue/place.ts'
import { type QueuedRun, RunQueue } from '../queue/run-queue.ts'
import { suspectsInFlight } from '../record/in-flight.ts'
import { isReplacement } from '../record/rebuild.ts'
import {
  addSuspects,
  type ClosedPhase,
  closeRun,
  hasClosed,
  isOpen,
  type Run,
  type RunRecord,
} from '../record/record.ts'
import { replaceRecord, type Versioned } from '../record/record-store.ts'
import { forgetWorkspace } from '../recovery/forget.ts'
import { inspectWorkspace } from '../recovery/inspect.ts'
import { isTransient } from '../retrying-objects.ts'
import { toRunFault } from '../runner/failure.ts'
import type { Reconstruction } from '../state/reconstruct.ts'
import type { ObjectKey } from '../workspace.ts'
import { deleteJob, explainRunner, forgetIdentity, isRunnerThere, observeJob, stopJob } from './job-runs.ts'
import { repairIdentity } from './keep-identity.ts'
import { GRACE_SECONDS, type JobEngineOptions, launchJob } from './launch.ts'
import { CLOSING_SECONDS, jobName, runFolder } from './render-job.ts'
import { startSweeping } from './sweep-identities.ts'

/** Progress of a run is read this often; its end is reported by its pod. */
const CHECK_AGAIN_MS = 10_000
/** Two renewals of a Lease that did not come. */
const MISSED_MS = 2 * RENEW_MS
/** A pod without any trouble that has a name may take this long to start. */
const START_SECONDS = 1800

export class JobEngine implements Engine {
  readonly name = 'job'
  /** Nothing runs on this machine. */
  readonly running = 0
  readonly #options: JobEngineOptions
  readonly #records: RecordCache
  readonly #queue: RunQueue
  readonly #holders: HolderLiveness
  readonly #plans: ExpiringPlans
  readonly #listeners = new Set<(key: Key) => void>()
  /** Runs that hold a slot, by apply. */
  readonly #open = new Map<string, string>()
  readonly #starting = new Set<string>()
  /** Applies with a Job that was seen since it was last cleaned up. */
  readonly #withJob = new Set<string>()
  readonly #checks = new Map<string, Timer>()
  readonly #stopSweeping: () => void
  #isDraining = false

  constructor(options: JobEngineOptions) {
    this.#options = options
    this.#records = new RecordCache(options.objects, (key) => this.#notify(key))
    this.#queue = new RunQueue(options.limits ?? defaultLimits('job'), options.clock)
    this.#holders = observeHolders(options)
    this.#plans = createExpiringPlans({ ...options, onDue: (key) => this.#notify(key) })
    options.onJobChange?.((key) => {
      this.#withJob.add(keyText(key))
      this.#checkAgain(key)
    })
    this.#stopSweeping = startSweeping(options)
  }

  onChange(listener: (key: Key) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Runs are pods of their own: there is nothing to wait for. */
  async drain(): Promise<void> {
    this.#isDraining = true
    this.#queue.clear()
  }

  async stop(): Promise<void> {
    this.#stopSweeping()
    await this.drain()
    for (const timer of this.#checks.values()) timer.cancel()
    this.#checks.clear()
    this.#plans.stop()
  }

  async observe(key: ObjectKey): Promise<WorkspaceView> {
    const id = keyText(key)
    const known = this.#records.get(key)
    const mayChange = isOpen(known?.run) || (known !== undefined && isReplacement(known))
    const isSettled = !mayChange || this.#queue.has(key)
    const record = (isSettled ? known : undefined) ?? (await this.#records.refresh(key))?.record
    const run = record?.run
    if (!isOpen(run)) return this.#observeClosed(key, record)
    if (!this.#open.has(id) && !this.#queue.has(key) && run.job) {
      this.#open.set(id, run.id)
      this.#queue.occupy(placeOfOpen(key, run))
    }
    const { activity, waitsFor } = await this.#activityOf(key, run)
    // It was closed while we looked, by its runner or by us.
    if (activity === 'idle') return this.#observeClosed(key, (await this.#records.refresh(key))?.record)
    const now = this.#records.get(key) ?? record!
    if (activity !== 'running') this.#leave(key)
    if (activity === 'unreachable' && (await this.#plans.check(key, now))) await this.#records.refresh(key)
    const shown = waitsFor === undefined ? now : { ...now, run: { ...now.run!, waitsFor } }
    const queue = this.#queue.positionOf(key)
    return { record: shown, activity, cancelling: run.cancelling === true, ...(queue ? { queue } : {}) }
  }

  /** A run is over when its pod is: until then it holds the lock. */
  async #observeClosed(key: ObjectKey, record: RunRecord | undefined): Promise<WorkspaceView> {
    const { objects } = this.#options
    const run = record?.run
    if (run?.job && this.#mayHaveJob(key)) {
      if (await isRunnerThere(objects, run)) {
        this.#checkLater(key)
        return { record, activity: 'running', cancelling: false }
      }
      await deleteJob(objects, run.job)
    }
    this.#withJob.delete(keyText(key))
    this.#leave(key)
    if (record && (await this.#plans.check(key, record))) await this.#records.refresh(key)
    return { record: this.#records.get(key) ?? record, activity: 'idle', cancelling: false }
  }

  #mayHaveJob(key: ObjectKey): boolean {
    return this.#withJob.has(keyText(key)) || this.#open.has(keyText(key))
  }

  async start(request: StartRequest): Promise<void> {
    const { owner } = request
    const id = keyText(owner)
    if (this.#isDraining || this.#starting.has(id)) return
    this.#starting.add(id)
    try {
      await this.#start(request)
    } finally {
      this.#starting.delete(id)
    }
  }

  async #start(request: StartRequest): Promise<void> {
    const { owner } = request
    const { clock, objects, runNamespace, countTagged } = this.#options
    const seen = await this.#records.refreshOrReplace(owner, request)
    // Another manager may have been at work: a decision on an older record is made again.
    if (request.basedOn && request.basedOn.runId !== seen?.record.run?.id) return this.#notify(owner)
    const before = seen?.record.run
    if (isOpen(before)) {
      if ((await this.#activityOf(owner, before, { isStarting: true })).activity !== 'lost') return
      await this.#releaseDeadLock(owner)
    } else if (before && livenessOf(before.runner ?? before.holder) === 'unknown')
      await this.#releaseHolder(owner, seen.record)
    const now = toTimestamp(clock.now())
    const known = seen?.record ?? (await replaceRecord(objects, owner, request, countTagged))
    const opened = openRun(known, request, runFolder(owner), now, { isRenewed: true })
    const job = { namespace: runNamespace, name: jobName(owner, opened.run!) }
    // Deletes the Job of the previous runner and its copies of credentials.
    if (before?.job && before.job.name !== job.name) await deleteJob(objects, before.job)
    const isFree = this.#queue.enter(placeOf(request, seen?.record))
    const phase = isFree ? 'Starting' : 'Queued'
    const record: RunRecord = { ...opened, run: { ...opened.run!, job, phase } }
    const written = await this.#write(owner, seen, record)
    if (!written) return
    if (isFree) await this.#begin(request, written)
    else this.#queue.add({ request, written }, this.#beginQueued)
    this.#notify(owner)
  }

  /** A run whose record is not written keeps no place in the queue. */
  async #write(owner: Owner, seen: Versioned | undefined, record: RunRecord) {
    let written: Versioned | undefined
    try {
      written = await this.#records.write(owner, seen, record)
    } finally {
      if (!written) this.#queue.leave(owner)
    }
    return written
  }

  readonly #beginQueued = async ({ request, written }: QueuedRun): Promise<void> => {
    const { owner } = request
    try {
      const record: RunRecord = { ...written.record, run: { ...written.record.run!, phase: 'Starting' } }
      const begun = await this.#write(owner, written, record)
      if (begun) await this.#begin(request, begun)
    } catch (error) {
      this.#options.log.error('Starting a run failed', { error: messageOf(error) })
      this.#records.delete(owner)
    }
    this.#notify(owner)
  }

  /** Called with a slot taken. What is wrong with the run ends it; what passes by itself is tried again. */
  async #begin(request: StartRequest, written: Versioned): Promise<void> {
    const { owner } = request
    const run = written.record.run!
    this.#open.set(keyText(owner), run.id)
    this.#options.log.info('Starting run', { WorkspaceTemplateApply: keyText(owner), run: run.id, job: run.job?.name })
    try {
      await launchJob(this.#options, request, written.record)
    } catch (error) {
      this.#leave(owner)
      if (isTransient(error) || isCaptError(error, 'CAPT_NOT_LEADER')) throw error
      await this.#close(owner, written, 'Failed', toRunFault(error))
    }
  }

  async #activityOf(
    key: ObjectKey,
    run: Run,
    { isStarting = false } = {},
  ): Promise<{ readonly activity: Activity; readonly waitsFor?: string }> {
    const id = keyText(key)
    if (this.#queue.runIdOf(key) === run.id || (!isStarting && this.#starting.has(id))) return { activity: 'running' }
    if (run.runner || !run.job) return { activity: await this.#activityOfRunner(key, run) }
    const { clock, objects } = this.#options
    const job = await observeJob(objects, run.job, run.id)
    if (run.cancelling && job.is !== 'active')
      return { activity: await this.#closeIfOpen(key, run, 'Cancelled', CANCELLED) }
    // Nothing has begun: the Job was not made, or it was deleted before its pod claimed the run.
    if (job.is === 'missing') return { activity: 'lost' }
    const waited = (clock.now() - Date.parse(job.createdAt ?? '')) / 1000
    const { fault, patienceSeconds } = job.explanation ?? {}
    if (job.is === 'ended') return { activity: await this.#closeIfOpen(key, run, 'Failed', fault ?? neverClaimed()) }
    if (waited > (patienceSeconds ?? START_SECONDS)) {
      await stopJob(objects, run.job)
      return { activity: await this.#closeIfOpen(key, run, 'Failed', fault ?? neverClaimed()) }
    }
    this.#checkLater(key)
    return { activity: 'running', ...(fault ? { waitsFor: `${fault.message} (${fault.hint})` } : {}) }
  }

  async #activityOfRunner(key: ObjectKey, run: Run): Promise<Activity> {
    const { objects, clock, graceSeconds = GRACE_SECONDS } = this.#options
    const who = run.runner ?? run.holder
    const life = await this.#holders.of(key, who)
    if (life === 'dead') {
      const { fault } = (await explainRunner(objects, run)) ?? {}
      // A cause with a name ends the run, so that its backoff and its message are those of the cause.
      return fault ? this.#closeIfOpen(key, run, 'Lost', fault) : 'lost'
    }
    // Another manager that holds a run without a runner is about to start one.
    if (life === 'alive' && !run.runner && who.pid === ownIdentity().pid) return 'lost'
    this.#checkLater(key)
    await this.#keepAble(key, run)
    if (life !== 'unknown') return 'running'
    const overdue =
      clock.now() - Date.parse(run.startedAt) - (run.timeoutSeconds + graceSeconds + CLOSING_SECONDS) * 1000
    // It hangs: past its deadline, with a Lease that it does not renew. Its pod is stopped, then killed.
    if (run.job && overdue > LEASE_SECONDS * 1000) await stopJob(objects, run.job)
    return run.runner ? 'unreachable' : 'lost'
  }

  /** A runner that does not renew its Lease may have lost its rights. */
  async #keepAble(key: ObjectKey, run: Run): Promise<void> {
    const record = this.#records.get(key)
    if (!run.job || !run.runner || record?.run?.id !== run.id) return
    if (((await this.#holders.silence(key)) ?? 0) >= MISSED_MS) await repairIdentity(this.#options, key, record)
  }

  /** Closes the run unless its runner did so meanwhile; what was in flight is in doubt. */
  async #closeIfOpen(key: ObjectKey, run: Run, phase: ClosedPhase, fault: RunFault): Promise<Activity> {
    const seen = await this.#records.refresh(key)
    const now = seen?.record.run
    if (!seen || !isOpen(now) || now.id !== run.id || now.resumed !== run.resumed) return 'idle'
    // Its pod claimed it after all, between two looks: it is observed as a runner next time.
    if (now.runner && !run.runner) {
      this.#checkAgain(key)
      return 'running'
    }
    await this.#close(key, seen, phase, fault)
    await this.#releaseDeadLock(key)
    return 'idle'
  }

  async #close(key: ObjectKey, seen: Versioned, phase: ClosedPhase, fault: RunFault): Promise<void> {
    const run = seen.record.run!
    const record = await this.#plans.drop(key, addSuspects(seen.record, suspectsInFlight(seen.record.inFlight)))
    const closed = closeRun(record, phase, toTimestamp(this.#options.clock.now()), fault, run.runner === undefined)
    if (!(await this.#records.write(toOwner(key), seen, closed))) return
    if (run.job) await deleteJob(this.#options.objects, run.job)
    this.#notify(key)
  }

  async cancel(key: ObjectKey, runId: string): Promise<void> {
    const seen = await this.#records.refreshIfWhole(key)
    const run = seen?.record.run
    if (!seen || !isOpen(run) || run.id !== runId) return
    if (this.#queue.runIdOf(key) === runId) {
      this.#queue.remove(key)
      return this.#close(key, seen, 'Cancelled', CANCELLED)
    }
    // The runner reads it when it is asked to stop.
    const asked: RunRecord = { ...seen.record, run: { ...run, cancelling: true } }
    if (!(await this.#records.write(toOwner(key), seen, asked))) return
    if (run.job) await stopJob(this.#options.objects, run.job)
    this.#checkLater(key)
  }

  async abandon(owner: Owner): Promise<void> {
    const seen = await this.#records.refresh(owner)
    const run = seen?.record.run
    if (isOpen(run) && (await this.#activityOf(owner, run)).activity === 'lost')
      await this.#close(owner, seen!, 'Lost', lostFault(run))
    await this.#releaseDeadLock(owner)
    this.#notify(owner)
  }

  reconstruct(owner: Owner, facts: ApplyFacts = {}): Promise<Reconstruction> {
    const { objects, countTagged } = this.#options
    return inspectWorkspace(objects, owner, { ...facts, countTagged })
  }

  async forget(owner: Owner, options: ForgetOptions): Promise<void> {
    const { objects, runNamespace } = this.#options
    const job = (await this.#records.refreshIfWhole(owner))?.record.run?.job
    if (job) await deleteJob(objects, job)
    await forgetIdentity(objects, owner, runNamespace)
    await forgetWorkspace(objects, owner, options)
    this.#records.delete(owner)
    this.#withJob.delete(keyText(owner))
  }

  /**
   * A runner that has closed its run has saved all it had: alive or not, it needs its lock no longer. A lock of another run is
   * released when the death of its holder is proven.
   */
  async #releaseHolder(owner: Owner, record: RunRecord): Promise<void> {
    const lock = await observeLock(this.#options.objects, owner)
    if (lock.is === 'ours' && !hasClosed(record, lock.runId)) await this.#holders.of(owner, lock.holder)
    await this.#releaseDeadLock(owner, record)
  }

  async #releaseDeadLock(key: ObjectKey, record?: RunRecord): Promise<void> {
    const isOver = (holder: ProcessIdentity, runId: string) =>
      (record !== undefined && hasClosed(record, runId)) || this.#holders.isProvenDead(key, holder)
    await releaseDeadLock(this.#options.objects, key, isOver)
  }

  #leave(key: ObjectKey): void {
    if (this.#open.delete(keyText(key))) this.#queue.leave(key)
  }

  #checkLater(key: ObjectKey): void {
    const id = keyText(key)
    if (this.#checks.has(id)) return
    this.#checks.set(
      id,
      this.#options.clock.after(CHECK_AGAIN_MS, () => this.#checkAgain(key)),
    )
  }

  #checkAgain(key: ObjectKey): void {
    const id = keyText(key)
    this.#checks.get(id)?.cancel()
    this.#checks.delete(id)
    // A run that waits here is known better than the record says.
    if (!this.#queue.has(key)) this.#records.delete(key)
    this.#notify(key)
  }

  #notify({ namespace, name }: ObjectKey): void {
    for (const listener of this.#listeners) listener({ namespace, name })
  }
}

function neverClaimed(): RunFault {
  return {
    kind: 'lost',
    code: 'CAPT_RUN_POD_FAILED',
    message: 'the pod of the run ended, or did not start in time, before it claimed the run',
    hint: 'look at the Jobs in the namespace of the runs: kubectl get jobs,pods -l app.kubernetes.io/name=capt-run',
  }
}
