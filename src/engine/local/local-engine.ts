// Runs Terraform on this machine: one runner process per run, in a group of its own, so that neither our end nor our
// beginning matters to it. We keep no truth: the record has it, and a manager that starts finds every run again.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Key, type Lease, LeaseKind } from '#api'
import type { Objects } from '#kube'
import { type Clock, type Log, messageOf, redact, toTimestamp } from '#lib'
import { findTerraform, type Tool } from '../find-terraform.ts'
import { forgetWorkspace } from '../forget.ts'
import { releaseDeadLock } from '../lock.ts'
import { leaseName, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { Activity, Engine, StartRequest, WorkspaceView } from '../port.ts'
import { livenessOf, ownIdentity, type ProcessIdentity, signal } from '../processes.ts'
import { closeRun, isOpen, type Run, type RunRecord } from '../record/record.ts'
import { freshRecord, readRecord, type Versioned, writeRecord } from '../record/record-store.ts'
import { folderPath, type RunRequest, readFact, readText, writeFact } from '../runner/folder.ts'
import type { ObjectKey } from '../workspace.ts'
import { createSlots } from './slots.ts'
import { createWatcher } from './watcher.ts'

export interface LocalEngineOptions {
  readonly objects: Objects
  /** Everything on disk is below this folder. */
  readonly workDir: string
  readonly clock: Clock
  readonly log: Log
  /** Runs at once. */
  readonly concurrency?: number
  readonly terraform?: { readonly binary?: string }
  /** Kubeconfig by which runners reach the same API server. */
  readonly kubeconfigForRunner: string
  /** Program and first arguments that run `capt runner`; this very program when left out. */
  readonly runner?: readonly string[]
  /** How long Terraform may take to stop when it is asked to. */
  readonly graceSeconds?: number
  /** Read-only provider mirror, for machines without a registry. */
  readonly providerMirror?: string
}

const CONCURRENCY = 8
const GRACE_SECONDS = 120
/** A heartbeat older than this is silence. */
const SILENCE_MS = 60_000

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
  readonly #listeners = new Set<(key: Key) => void>()
  /** Records as last seen; a run we watch is told by its report instead. */
  readonly #known = new Map<string, RunRecord>()
  /** Runs of ours that wait for room: how to leave the line. */
  readonly #queued = new Map<string, { readonly runId: string; leave(): void }>()

  constructor(options: LocalEngineOptions, tool: Tool) {
    this.name = `${tool.name} ${tool.version}`
    this.#options = options
    this.#tool = tool
    this.#slots = createSlots(options.concurrency ?? CONCURRENCY)
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
  }

  async observe(key: ObjectKey): Promise<WorkspaceView> {
    const id = idOf(key)
    const record = this.#known.get(id) ?? (await this.#refresh(key))?.record
    if (!record || !isOpen(record.run)) return { record, activity: 'idle', cancelling: false }
    const { run } = record
    const cancelling = readFact({ path: run.folder }, 'cancel')?.runId === run.id
    if (this.#watcher.isWatching(id)) return { record, activity: 'running', cancelling }
    const activity = await this.#activityOf(key, run)
    return { record: this.#known.get(id) ?? record, activity, cancelling }
  }

  async start(request: StartRequest): Promise<void> {
    const { owner } = request
    const id = idOf(owner)
    const seen = await this.#refresh(owner)
    // Another manager may have been at work: whoever decided on older news decides again.
    if (request.basedOn && request.basedOn.runId !== seen?.record.run?.id) return this.#tell(owner)
    if (isOpen(seen?.record.run)) {
      const activity = this.#watcher.isWatching(id) ? 'running' : await this.#activityOf(owner, seen.record.run)
      if (activity !== 'lost') return
    }
    const record = this.#open(seen?.record ?? freshRecord(), request)
    const written = await this.#write(owner, seen, record)
    if (!written) return
    const run = written.record.run!
    this.#known.set(id, written.record)
    const leave = this.#slots.enter(owner.namespace, () => {
      this.#queued.delete(id)
      this.#launch(request, run)
    })
    if (leave) this.#queued.set(id, { runId: run.id, leave })
    this.#tell(owner)
  }

  /** A lost run with the same inputs keeps its name; otherwise it is closed and a new one begins. */
  #open(before: RunRecord, request: StartRequest): RunRecord {
    const { verb, hash, timeoutSeconds, retryToken, owner } = request
    const { run } = before
    const now = toTimestamp(this.#options.clock.now())
    const isSame = run?.verb === verb && run.hash === hash && run.retryToken === retryToken
    const base = { holder: ownIdentity(), folder: folderPath(this.#options.workDir, owner), timeoutSeconds }
    if (isOpen(run) && isSame) {
      const { runner, ...rest } = run
      // One that never began was not interrupted.
      const resumed = run.resumed + (runner ? 1 : 0)
      return { ...before, run: { ...rest, ...base, phase: 'Starting', resumed } }
    }
    const closed = isOpen(run) ? closeRun(before, 'Lost', now, lostFault(run)) : before
    const opened: Run = {
      ...base,
      id: randomUUID(),
      verb,
      hash,
      attempt: isSame ? run.attempt + 1 : 1,
      phase: 'Queued',
      startedAt: now,
      resumed: 0,
      ...(retryToken === undefined ? {} : { retryToken }),
    }
    return { ...closed, run: opened }
  }

  #launch(request: StartRequest, run: Run): void {
    const { owner, verb, workspace, credentials, timeoutSeconds } = request
    const { workDir, kubeconfigForRunner, graceSeconds = GRACE_SECONDS, providerMirror, log } = this.#options
    const key = { namespace: owner.namespace, name: owner.name }
    const folder = { path: run.folder }
    try {
      mkdirSync(folder.path, { recursive: true, mode: 0o700 })
      const asked: RunRequest = {
        runId: run.id,
        verb,
        owner,
        ...(workspace ? { workspace } : {}),
        ...(credentials ? { credentials } : {}),
        tool: this.#tool,
        timeoutSeconds,
        graceSeconds,
        shared: workDir,
        ...(providerMirror === undefined ? {} : { providerMirror }),
      }
      writeFact(folder, 'request', asked)
      const [program, ...first] = this.#options.runner ?? [process.execPath, ...process.execArgv, process.argv[1]!]
      const args = [...first, 'runner', '--folder', folder.path, '--kubeconfig', kubeconfigForRunner]
      const output = openSync(join(folder.path, 'runner.log'), 'w', 0o600)
      const child = spawn(program!, args, { detached: true, stdio: ['ignore', output, output], cwd: folder.path })
      closeSync(output)
      child.on('error', (error) => log.error('Starting a runner failed', { error: messageOf(error) }))
      child.unref()
      log.info('Starting run', { WorkspaceTemplateApply: idOf(owner), run: run.id, verb, attempt: run.attempt })
      this.#watcher.watchChild(key, run.id, folder.path, child, workspace?.logToManager ?? false)
    } catch (error) {
      this.#slots.leave()
      log.error('Starting a runner failed', { error: messageOf(error) })
      this.#known.delete(idOf(owner))
      this.#tell(owner)
    }
  }

  async #onEnd(key: ObjectKey, runId: string): Promise<void> {
    this.#slots.leave()
    const id = idOf(key)
    const { log, workDir } = this.#options
    const report = readFact({ path: folderPath(workDir, key) }, 'report')
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
      await this.#close(owner, seen, 'Lost')
    }
    await releaseDeadLock(this.#options.objects, owner)
    this.#tell(owner)
  }

  async forget(owner: Owner, options: Parameters<Engine['forget']>[1]): Promise<void> {
    await forgetWorkspace(this.#options.objects, owner, options)
    rmSync(folderPath(this.#options.workDir, owner), { recursive: true, force: true })
    this.#known.delete(idOf(owner))
  }

  async #close(key: ObjectKey, seen: Versioned, phase: 'Cancelled' | 'Lost'): Promise<void> {
    const run = seen.record.run!
    const fault = phase === 'Lost' ? lostFault(run) : CANCELLED
    const closed = closeRun(seen.record, phase, toTimestamp(this.#options.clock.now()), fault)
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
    if (life === 'alive') return isOurs(who) ? 'lost' : 'running'
    if (life === 'unknown') return (await this.#isBeating(key)) ? 'running' : 'unreachable'
    return (await this.#takeReport(key, run)) ? 'idle' : 'lost'
  }

  #adopt(key: ObjectKey, run: Run, runner: ProcessIdentity): void {
    this.#slots.occupy()
    this.#options.log.info('Found a run under way', { WorkspaceTemplateApply: idOf(key), run: run.id })
    this.#watcher.watchProcess({ namespace: key.namespace, name: key.name }, run.id, run.folder, runner)
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

const CANCELLED = {
  kind: 'cancelled',
  code: 'CAPT_RUN_CANCELLED',
  message: 'the run was cancelled before it began',
  hint: 'capt retry starts another one',
} as const

function lostFault(run: Run) {
  const words = lastWords(run)
  return {
    kind: 'lost',
    code: 'CAPT_RUN_LOST',
    message: `the ${run.verb} was interrupted: its runner on ${(run.runner ?? run.holder).host} is gone${words}`,
    hint: 'the next attempt goes on from the saved state; look at status.suspects',
  } as const
}

/** What the runner said last, when it ran on this machine and said anything. */
function lastWords({ folder }: Run): string {
  const line = readText(join(folder, 'runner.log'))?.trim().split('\n').at(-1) ?? ''
  return line === '' ? '' : `; it said: ${redact(line.slice(0, 300))}`
}

function isOurs(who: ProcessIdentity): boolean {
  const me = ownIdentity()
  return who.pid === me.pid && who.start === me.start
}

const idOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`
