// One run, from claim to close. Whatever happens to us, whoever comes after finds things in an order that lets them go on:
// record before lock, lock before state, frozen inputs before anything is made, saved state before the record is closed.
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import type { Objects } from '#kube'
import { CaptError, type Clock, type Log, messageOf } from '#lib'
import { acquireLock, type Lock, RENEW_MS } from '../lock.ts'
import { patientObjects } from '../patient.ts'
import { ownIdentity } from '../processes.ts'
import type { Run, Suspect } from '../record/record.ts'
import { createRedactor, type Redactor } from '../secrets.ts'
import type { ObjectKey } from '../workspace.ts'
import { closeRecord } from './close.ts'
import { type Credentials, credentialRefs, credentialsFingerprint, readCredentials } from './credentials.ts'
import { freeBytes, guardDisk, NEEDED_BYTES } from './disk.ts'
import { terraformEnvironment } from './environment.ts'
import { diskFull, RunFailure, toRunFault } from './failure.ts'
import { type Folder, folderOf, pruneLogs, type RunRequest, readFact, removeFact } from './folder.ts'
import { freeze } from './freeze.ts'
import { findInputs, type Inputs, restoreLockFile, settleOwner } from './inputs.ts'
import {
  clearForFetch,
  type Layout,
  layOut,
  layOutFrozen,
  markFetched,
  needsFetch,
  remoteBackend,
  rootOf,
  wipeCredentials,
} from './prepare.ts'
import { cliConfigFile, sharePackages } from './providers.ts'
import { RecordKeeper } from './record-keeper.ts'
import { RunLog } from './run-log.ts'
import { Stopping } from './stopping.ts'
import { readProgress, suspectsOf } from './suspects.ts'
import { waitForOrphan } from './terraform-process.ts'
import { TerraformRun } from './terraform-run.ts'
import { WorkspaceState } from './workspace-state.ts'

export interface RunnerWorld {
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by SIGTERM: Terraform is asked to stop and given its time. */
  readonly stop: AbortSignal
}

/** After Terraform has ended, this long is waited for an API server that is away. */
const SAVE_PATIENCE_MS = 10 * 60_000

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
  const until = () => Math.max(deadline, clock.monotonic()) + SAVE_PATIENCE_MS
  const objects = patientObjects(world.objects, { clock, log, until })
  const keeper = await RecordKeeper.claim(objects, request, folder, ownIdentity())
  if (!keeper) return 'not-ours'
  return new Runner(folder, request, keeper, { ...world, objects }).run()
}

class Runner {
  readonly #folder: Folder
  readonly #request: RunRequest
  readonly #keeper: RecordKeeper
  readonly #world: RunnerWorld
  readonly #runLog: RunLog
  readonly #stopping: Stopping
  #redact: Redactor
  #lock: Lock | undefined
  #state: WorkspaceState | undefined
  #layout: Layout | undefined
  #credentials: Credentials | undefined
  #terraform: TerraformRun | undefined
  #suspects: readonly Suspect[] = []
  #refs: readonly ObjectKey[] = []

  constructor(folder: Folder, request: RunRequest, keeper: RecordKeeper, world: RunnerWorld) {
    this.#folder = folder
    this.#request = request
    this.#keeper = keeper
    this.#world = world
    this.#redact = createRedactor(request.workspace?.secretValues ?? [])
    this.#runLog = new RunLog(folder.logOf(request.runId), world.clock, (text) => this.#redact(text))
    this.#stopping = new Stopping((reason) => this.#say(`Asked to stop (${reason})`))
  }

  async run(): Promise<RunEnd> {
    const { clock, log, stop } = this.#world
    const onStop = () => this.#stopping.request(this.#cancelReason())
    if (stop.aborted) onStop()
    stop.addEventListener('abort', onStop, { once: true })
    const timeout = clock.after(this.#request.timeoutSeconds * 1000, () => this.#stopping.request('deadline'))
    const beat = setInterval(() => void this.#renew(), RENEW_MS)
    let freeDisk = () => {}
    try {
      await this.#takeLock()
      if (freeBytes(this.#folder.path) < NEEDED_BYTES) throw new RunFailure(diskFull())
      freeDisk = guardDisk(this.#folder.path, () => this.#stopping.request('disk'))
      await this.#takeUp()
      await this.#work()
      return await this.#close()
    } catch (error) {
      log.warn('Run failed', { error: this.#redact(messageOf(error)) })
      return await this.#close(error)
    } finally {
      timeout.cancel()
      clearInterval(beat)
      freeDisk()
      this.#state?.stop()
      wipeCredentials(this.#folder, this.#layout)
    }
  }

  #cancelReason() {
    const cancel = readFact(this.#folder, 'cancel')
    return cancel?.runId === this.#request.runId ? cancel.reason : 'shutdown'
  }

  async #takeLock(): Promise<void> {
    const { objects, clock } = this.#world
    const { owner, runId, verb, tool } = this.#request
    const holder = ownIdentity()
    const answer = await acquireLock(objects, clock, { owner, runId, verb, holder, toolVersion: tool.version })
    if (answer.is === 'held') {
      this.#lock = answer.lock
      return
    }
    const isForeign = answer.is === 'foreign'
    throw new RunFailure({
      kind: 'locked',
      code: isForeign ? 'CAPT_STATE_LOCKED' : 'CAPT_RUN_HOLDER_UNKNOWN',
      message: isForeign
        ? `the state is locked by somebody else: ${answer.who}`
        : `the state is locked by a run on ${answer.holder.host} that cannot be proven dead`,
      hint: isForeign
        ? `wait for them; if they are gone for good: ${answer.command}`
        : `end process ${answer.holder.pid} on ${answer.holder.host}, or let it finish`,
    })
  }

  /** Waits for what an earlier runner left at work, learns from what it left behind, and settles which state holds. */
  async #takeUp(): Promise<void> {
    const { objects, clock, log } = this.#world
    const { owner, runId, workspace, graceSeconds } = this.#request
    const folder = this.#folder
    const { record } = this.#keeper
    settleOwner(folder, record.workspaceId)
    mkdirSync(folder.work, { recursive: true, mode: 0o700 })
    this.#state = await WorkspaceState.open({ objects, owner, folder, clock, log }, record.backups)
    const stop = this.#stopping.signal
    if (await waitForOrphan(folder, { clock, stop, graceMs: graceSeconds * 1000 })) {
      this.#say('The runner before this one was gone; its Terraform has ended now')
    }
    await this.#state.settle(workspace ? rootOf(folder, workspace) : folder.work, record.restored)
    if (existsSync(folder.messages)) {
      const known = new Set(this.#state.info?.addresses)
      this.#suspects = suspectsOf(readProgress(folder.messages), known, runId)
      for (const { address } of this.#suspects) {
        this.#say(`${address} was being worked on when Terraform was killed; look at it`)
      }
    }
    for (const path of [folder.messages, folder.errors]) rmSync(path, { force: true })
  }

  async #work(): Promise<void> {
    const { objects } = this.#world
    const { verb, owner } = this.#request
    const { record } = this.#keeper
    if (verb === 'destroy' && record.backend === undefined && (this.#state?.info?.addresses.length ?? 0) === 0) {
      this.#say('There is nothing to destroy')
      return
    }
    const inputs = await findInputs(objects, this.#request, record, (text) => this.#say(text))
    this.#refs = credentialRefs(inputs.workspace)
    this.#credentials = await readCredentials(objects, owner.namespace, inputs.workspace, this.#folder)
    this.#learnSecrets(this.#credentials.secrets)
    this.#terraform = this.#prepareTerraform(inputs)
    const layout = await this.#layOut(inputs)
    this.#layout = layout
    this.#learnSecrets(layout.secrets)
    this.#state?.moveTo(layout.root)
    await restoreLockFile(objects, this.#request, record, this.#folder, layout)

    await this.#terraform.init(layout, inputs.bundle !== undefined)
    sharePackages(layout.root, this.#request.shared)
    this.#tell('Plan')
    const counts =
      verb === 'destroy' ? await this.#terraform.planDestroy(layout) : await this.#terraform.plan(layout, verb)
    await freeze({
      objects,
      request: this.#request,
      folder: this.#folder,
      keeper: this.#keeper,
      state: this.#state!,
      layout,
      credentials: this.#credentials,
      suspects: this.#suspects,
      plan: this.#terraform.progress.counts,
      changes: counts !== undefined,
      backend: remoteBackend(layout.root),
      log: this.#world.log,
    })
    if (counts) await this.#terraform.apply(layout, verb)
    else this.#say('Nothing to change')
  }

  #prepareTerraform({ workspace }: Inputs): TerraformRun {
    const { env, clock } = this.#world
    const { tool, shared, providerMirror, graceSeconds, timeoutSeconds } = this.#request
    return new TerraformRun({
      folder: this.#folder,
      tool,
      env: terraformEnvironment({
        own: env,
        workspace,
        credentials: this.#credentials!.env,
        cliConfig: cliConfigFile(shared, providerMirror, env),
        workspaceId: this.#keeper.record.workspaceId,
      }),
      clock,
      stop: this.#stopping.signal,
      graceMs: graceSeconds * 1000,
      say: (text) => this.#say(text),
      onProgress: () => this.#tellProgress(),
      stopped: () => new RunFailure(this.#stopping.fault(timeoutSeconds)),
    })
  }

  async #layOut({ workspace, bundle }: Inputs): Promise<Layout> {
    const folder = this.#folder
    if (bundle) return layOutFrozen(folder, { ...bundle, workspace }, this.#credentials!)
    if (workspace.source.kind === 'remote' && needsFetch(folder, workspace)) {
      clearForFetch(folder)
      await this.#terraform!.fetch(folder.work, workspace.source.address)
      markFetched(folder, workspace)
    }
    return layOut(folder, workspace, this.#credentials!)
  }

  async #close(error?: unknown): Promise<RunEnd> {
    const { clock, objects, log } = this.#world
    const folder = this.#folder
    const fault = error === undefined ? undefined : toRunFault(error)
    this.#tell('Save')
    if (fault) this.#say(`Failed: ${fault.message}`)
    try {
      await this.#state?.flush(this.#terraform !== undefined)
      if (this.#terraform?.wasKilled) {
        const known = new Set(this.#state?.info?.addresses)
        this.#suspects = [...this.#suspects, ...suspectsOf(this.#terraform.progress, known, this.#request.runId)]
      }
      await closeRecord({
        objects,
        clock,
        request: this.#request,
        keeper: this.#keeper,
        layout: this.#layout,
        state: this.#state,
        credentials: await this.#credentialFacts(),
        plan: this.#terraform?.progress.counts,
        suspects: this.#suspects,
        outputs: await this.#outputs(fault === undefined),
        fault: fault && { ...fault, message: this.#redact(fault.message) },
        finishLog: (text) => {
          this.#say(text)
          return this.#runLog.finish()
        },
      })
    } catch (failure) {
      log.error('Closing the run failed', { error: messageOf(failure) })
      return 'unsaved'
    }
    await this.#lock
      ?.release()
      .catch((failure: unknown) => log.warn('Releasing the lock failed', { error: messageOf(failure) }))
    for (const path of [folder.messages, folder.errors, folder.plan, folder.vars])
      rmSync(path, { recursive: true, force: true })
    for (const fact of ['cancel', 'request'] as const) removeFact(folder, fact)
    pruneLogs(folder, this.#keeper.record.history)
    return 'done'
  }

  /** From the state we keep; a backend of the template's own is asked through Terraform. */
  async #outputs(succeeded: boolean) {
    const isRemote = this.#layout !== undefined && remoteBackend(this.#layout.root) !== undefined
    if (isRemote && succeeded && this.#terraform) return this.#terraform.outputs(this.#layout!)
    return this.#state?.info?.outputs ?? {}
  }

  /** What the credentials were, so that a failure for want of them is not repeated with the same ones. */
  async #credentialFacts(): Promise<Pick<Run, 'credentials' | 'credentialRefs'>> {
    if (this.#refs.length === 0) return {}
    const credentials =
      this.#credentials?.fingerprint ?? (await credentialsFingerprint(this.#world.objects, this.#refs))
    return { credentials, credentialRefs: this.#refs.map(({ namespace, name }) => `${namespace}/${name}`) }
  }

  #learnSecrets(secrets: readonly string[]): void {
    const known = [...(this.#request.workspace?.secretValues ?? []), ...(this.#credentials?.secrets ?? []), ...secrets]
    this.#redact = createRedactor(known)
  }

  #say(text: string): void {
    this.#runLog.add(text)
  }

  #tell(phase: 'Plan' | 'Save'): void {
    this.#keeper.progress((record) => ({ ...record, run: { ...record.run!, phase } }))
  }

  #tellProgress(): void {
    const { text, address, counts } = this.#terraform!.progress
    const saved = this.#state?.saved
    const started = this.#keeper.record.run?.phase === 'Apply'
    this.#keeper.progress(
      (record) => ({
        ...record,
        ...(saved ? { state: saved } : {}),
        run: {
          ...record.run!,
          ...(started ? { progress: text, address } : { phase: 'Plan' }),
          plan: counts,
        },
      }),
      this.#world.clock.now(),
    )
  }

  async #renew(): Promise<void> {
    try {
      await this.#lock?.renew()
    } catch (error) {
      this.#say(`Renewing the lock failed: ${messageOf(error)}`)
    }
  }
}
