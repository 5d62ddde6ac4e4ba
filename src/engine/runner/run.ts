// One run, from claim to close. Whatever happens to us, whoever comes after finds the record, the lock, the folder and the
// saved state in an order that lets them go on: record first, then lock, then state, then Terraform.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import type { Objects } from '#kube'
import { CaptError, type Clock, type Log, messageOf, toTimestamp } from '#lib'
import { deleteBundle, loadBundle, packBundle, saveBundle } from '../bundle.ts'
import { acquireLock, type Lock, RENEW_MS } from '../lock.ts'
import { isPassing, patientObjects } from '../patient.ts'
import { ownIdentity } from '../processes.ts'
import { addSuspects, type ClosedPhase, closeRun, type RunRecord, type Suspect } from '../record/record.ts'
import { createRedactor, stringsIn } from '../secrets.ts'
import { chooseState, readState } from '../state/state-file.ts'
import { chunksOf, countChunks, deleteBackup, loadState, saveBackup, saveState, verifyState } from '../state/state-store.ts'
import type { Workspace } from '../workspace.ts'
import { type Credentials, readCredentials } from './credentials.ts'
import { freeBytes, guardDisk, NEEDED_BYTES } from './disk.ts'
import { terraformEnvironment } from './environment.ts'
import { diskFull, RunFailure, toRunFault } from './failure.ts'
import { type CancelReason, type Folder, folderOf, readFact, readText, removeFact, type RunRequest, writeFact } from './folder.ts'
import { publicOutputs, writeConnectionSecret } from './outputs.ts'
import {
  clearForFetch,
  type Layout,
  layOut,
  layOutFrozen,
  markFetched,
  needsFetch,
  placeState,
  remoteBackend,
  rootOf,
  stateInFolder,
  wipeCredentials,
} from './prepare.ts'
import { cliConfigFile, sharePackages } from './providers.ts'
import { RecordKeeper } from './record-keeper.ts'
import { RunLog } from './run-log.ts'
import { StateKeeper } from './state-keeper.ts'
import { readProgress, suspectsOf } from './suspects.ts'
import { waitForOrphan } from './terraform-process.ts'
import { TerraformRun } from './terraform-run.ts'

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
const KEPT_BACKUPS = 5

/** `done`: the run was closed. `not-ours`: another runner has it or it is over. `unsaved`: the folder knows more than the server. */
export type RunEnd = 'done' | 'not-ours' | 'unsaved'

export async function runOnce(path: string, world: RunnerWorld): Promise<RunEnd> {
  const folder = folderOf(path)
  const request = readFact(folder, 'request')
  if (!request) throw new CaptError('CAPT_RUN_UNKNOWN', `there is no run in ${path}`, { hint: 'runs are started by capt up or capt manager' })
  const deadline = world.clock.monotonic() + request.timeoutSeconds * 1000
  const objects = patientObjects(world.objects, {
    clock: world.clock,
    log: world.log,
    until: () => Math.max(deadline, world.clock.monotonic()) + SAVE_PATIENCE_MS,
  })
  const keeper = await RecordKeeper.claim(objects, request, folder, ownIdentity())
  if (!keeper) return 'not-ours'
  return new Runner(folder, request, keeper, { ...world, objects }, deadline).run()
}

class Runner {
  readonly #folder: Folder
  readonly #request: RunRequest
  readonly #keeper: RecordKeeper
  readonly #world: RunnerWorld
  readonly #runLog: RunLog
  readonly #stop = new AbortController()
  #reason: CancelReason | 'disk' | undefined
  #states: StateKeeper | undefined
  #stateParts = 0
  #lock: Lock | undefined
  #layout: Layout | undefined
  #credentials: Credentials | undefined
  #terraform: TerraformRun | undefined
  #backend: string | undefined
  #suspects: readonly Suspect[] = []

  constructor(folder: Folder, request: RunRequest, keeper: RecordKeeper, world: RunnerWorld, deadline: number) {
    this.#folder = folder
    this.#request = request
    this.#keeper = keeper
    this.#world = world
    this.#runLog = new RunLog(folder.logOf(request.runId), world.clock, createRedactor(request.workspace?.secretValues ?? []))
    const { clock, stop } = world
    const onStop = () => this.#stopFor(readFact(folder, 'cancel')?.runId === request.runId ? (readFact(folder, 'cancel')?.reason ?? 'shutdown') : 'shutdown')
    if (stop.aborted) onStop()
    stop.addEventListener('abort', onStop, { once: true })
    clock.after(deadline - clock.monotonic(), () => this.#stopFor('deadline'))
  }

  async run(): Promise<RunEnd> {
    const { folder } = { folder: this.#folder }
    const unguard = { disk: () => undefined as void }
    const beat = setInterval(() => void this.#beat(), RENEW_MS)
    let end: RunEnd
    try {
      await this.#takeLock()
      if (freeBytes(folder.path) < NEEDED_BYTES) throw new RunFailure(diskFull())
      unguard.disk = guardDisk(folder.path, () => this.#stopFor('disk'))
      await this.#takeUp()
      await this.#work()
      end = await this.#close('Succeeded')
    } catch (error) {
      this.#world.log.warn('Run failed', { error: messageOf(error) })
      end = await this.#fail(error)
    } finally {
      clearInterval(beat)
      unguard.disk()
      this.#states?.stop()
      wipeCredentials(folder, this.#layout)
    }
    return end
  }

  #stopFor(reason: CancelReason | 'disk'): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#say(reason === 'deadline' ? 'The time for this run is over; asking Terraform to stop' : `Asked to stop (${reason})`)
    this.#stop.abort()
  }

  #say(text: string): void {
    this.#runLog.add(text)
  }

  async #takeLock(): Promise<void> {
    const { objects, clock } = this.#world
    const { owner, runId, verb, tool } = this.#request
    const answer = await acquireLock(objects, clock, { owner, runId, verb, holder: ownIdentity(), toolVersion: tool.version })
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

  /** Waits for what an earlier runner left at work, then decides which state is the newest. */
  async #takeUp(): Promise<void> {
    const { objects, clock, log } = this.#world
    const { owner, runId } = this.#request
    const folder = this.#folder
    this.#settleOwner()
    mkdirSync(folder.work, { recursive: true, mode: 0o700 })
    const { record } = this.#keeper
    const saved = await loadState(objects, owner, record.backups)
    this.#stateParts = saved === undefined ? 0 : await countChunks(objects, owner)

    const root = this.#rootNow()
    const keep = (text: string | undefined) => {
      this.#states = new StateKeeper({ root, copy: folder.stateCopy, clock, log, save: (state) => this.#saveState(state) }, text)
      this.#states.start()
    }
    keep(saved)
    const waited = await waitForOrphan(folder, { clock, stop: this.#stop.signal, graceMs: this.#request.graceSeconds * 1000 })
    if (waited) this.#say('An earlier runner was gone; its Terraform has ended now')
    if (existsSync(folder.messages)) this.#readLeftovers(runId)
    this.#states?.stop()
    await this.#states?.flush()

    const here = newest(stateInFolder(folder), readText(folder.stateCopy))
    const savedNow = this.#states?.savedText ?? saved
    const choice = chooseState(here, savedNow)
    if (choice.use === 'conflict') {
      throw new CaptError('CAPT_STATE_CONFLICT', choice.message, {
        hint: `capt state list ${owner.name} shows the copies; capt state restore decides which one holds`,
      })
    }
    const text = choice.use === 'folder' ? here : choice.use === 'saved' ? savedNow : undefined
    placeState(folder, root, text)
    keep(savedNow)
    this.#states?.look()
    const known = new Set(text === undefined ? [] : readState(text)?.addresses)
    this.#suspects = this.#suspects.filter(({ address }) => !known.has(address))
    for (const { address } of this.#suspects) this.#say(`${address} was being made when the last run was killed; it may exist without being in the state`)
  }

  /** A folder of an earlier object of the same name is none of ours. */
  #settleOwner(): void {
    const folder = this.#folder
    const { workspaceId } = this.#keeper.record
    const owner = readFact(folder, 'owner')
    if (owner && owner.workspaceId !== workspaceId && existsSync(folder.work)) {
      const aside = `${folder.work}.${owner.workspaceId}`
      rmSync(aside, { recursive: true, force: true })
      renameSync(folder.work, aside)
      for (const path of [folder.stateCopy, folder.messages, folder.errors]) rmSync(path, { force: true })
    }
    writeFact(folder, 'owner', { workspaceId })
  }

  #readLeftovers(runId: string): void {
    this.#suspects = suspectsOf(readProgress(this.#folder.messages), new Set(), runId)
    for (const path of [this.#folder.messages, this.#folder.errors]) rmSync(path, { force: true })
  }

  /** Where state lies before the inputs are known: that of the request, else where it was. */
  #rootNow(): string {
    const { workspace } = this.#request
    return workspace && !this.#isFrozen() ? rootOf(this.#folder, workspace) : this.#folder.work
  }

  #isFrozen(): boolean {
    return this.#request.verb === 'destroy' && this.#keeper.record.bundle !== undefined
  }

  async #work(): Promise<void> {
    const { verb } = this.#request
    const { record } = this.#keeper
    if (verb === 'destroy' && this.#isEmpty(record)) {
      this.#say('There is nothing to destroy')
      return
    }
    const { workspace, bundle } = await this.#inputs()
    const { objects, env } = this.#world
    const { owner, tool, shared, providerMirror } = this.#request
    this.#credentials = await readCredentials(objects, owner.namespace, workspace, this.#folder)
    this.#learnSecrets(this.#credentials.secrets)
    const cliConfig = cliConfigFile(shared, providerMirror, env)
    const terraform = new TerraformRun({
      folder: this.#folder,
      tool,
      env: terraformEnvironment({ own: env, workspace, credentials: this.#credentials.env, cliConfig, workspaceId: record.workspaceId, tool }),
      clock: this.#world.clock,
      stop: this.#stop.signal,
      graceMs: this.#request.graceSeconds * 1000,
      say: (text) => this.#say(text),
      onProgress: () => this.#tellProgress(),
      stopped: () => new RunFailure(this.#stopFault()),
    })
    this.#terraform = terraform

    if (bundle) this.#layout = await layOutFrozen(this.#folder, bundle, this.#credentials)
    else {
      if (needsFetch(this.#folder, workspace) && workspace.source.kind === 'remote') {
        clearForFetch(this.#folder)
        await terraform.fetch(this.#folder.work, workspace.source.address)
        markFetched(this.#folder, workspace)
      }
      this.#layout = layOut(this.#folder, workspace, this.#credentials)
    }
    const layout = this.#layout
    this.#learnSecrets(layout.secrets)
    this.#moveStateTo(layout.root)
    await this.#restoreLockFile(layout, bundle !== undefined)
    await terraform.init(layout, bundle !== undefined)
    this.#backend = remoteBackend(layout.root)
    sharePackages(layout.root, shared)

    this.#tellPhase('Plan')
    const counts = verb === 'destroy' ? await terraform.planDestroy(layout) : await terraform.plan(layout, verb)
    await this.#freeze(layout, counts !== undefined)
    if (counts) {
      await terraform.apply(layout, verb)
    } else this.#say('Nothing to change')
  }

  #isEmpty(record: RunRecord): boolean {
    if (record.backend !== undefined) return false
    const text = readText(`${this.#rootNow()}/terraform.tfstate`)
    return text === undefined || readState(text)?.addresses.length === 0
  }

  /** A destroy works from what was frozen; only when nothing was, from the template as it is now. */
  async #inputs() {
    const { owner, workspace } = this.#request
    const { bundle: ref } = this.#keeper.record
    if (this.#isFrozen() && ref) {
      try {
        const bundle = await loadBundle(this.#world.objects, owner, ref)
        return { workspace: mergeCredentials(bundle.workspace, workspace), bundle }
      } catch (error) {
        if (!workspace) throw error
        this.#say(`${messageOf(error)}; working from the template instead`)
      }
    }
    if (!workspace) {
      throw new CaptError('CAPT_INPUTS_GONE', 'there is state to destroy, but neither frozen inputs nor a template to do it with', {
        hint: 'bring the WorkspaceTemplate back, or set spec.retainWorkspaceOnDelete to let the infrastructure stay',
      })
    }
    return { workspace, bundle: undefined }
  }

  #moveStateTo(root: string): void {
    const { clock, log } = this.#world
    this.#states?.stop()
    const text = stateInFolder(this.#folder)
    placeState(this.#folder, root, text)
    this.#states = new StateKeeper(
      { root, copy: this.#folder.stateCopy, clock, log, save: (state) => this.#saveState(state) },
      this.#states?.savedText,
    )
    this.#states.start()
  }

  /** Provider versions stay what they were, also on another machine. */
  async #restoreLockFile(layout: Layout, frozen: boolean): Promise<void> {
    const { bundle: ref } = this.#keeper.record
    const path = `${layout.root}/.terraform.lock.hcl`
    if (frozen || !ref || existsSync(path)) return
    try {
      const { files } = await loadBundle(this.#world.objects, this.#request.owner, ref)
      const inside = path.slice(this.#folder.work.length + 1)
      const lockFile = files.find((file) => file.path === inside)
      if (lockFile) readAndWrite(path, lockFile.data)
    } catch (error) {
      this.#say(`The lock file of the last run could not be read: ${messageOf(error)}`)
    }
  }

  /** Before anything is made: the inputs are frozen, the state as it was is copied, the record says what will happen. */
  async #freeze(layout: Layout, changes: boolean): Promise<void> {
    const { objects, clock } = this.#world
    const { owner, verb, tool } = this.#request
    const { record } = this.#keeper
    const toolText = `${tool.name} ${tool.version}`
    let { bundle } = record
    if (verb === 'apply' && bundle?.hash !== layout.workspace.hash) {
      const { secretValues: _kept, ...rest } = layout.workspace
      const packed = packBundle(this.#folder.work, { ...rest, secretValues: layout.workspace.secretValues }, toolText, layout.private)
      bundle = await saveBundle(objects, owner, packed, layout.workspace.hash, toolText)
    }
    const backups = changes ? await this.#backUp(record) : record.backups
    const kept = [...new Set([...record.kept, ...(this.#credentials?.kept ?? []).map(({ namespace, name }) => `${namespace}/${name}`)])]
    const counts = this.#terraform?.progress.counts
    await this.#keeper.update((now) => ({
      ...addSuspects(now, this.#suspects),
      bundle,
      backups,
      kept,
      ...(this.#backend === undefined ? {} : { backend: this.#backend }),
      ...(this.#states?.saved ? { state: this.#states.saved } : {}),
      run: { ...now.run!, phase: 'Apply', plan: counts, credentials: this.#credentials?.fingerprint },
    }))
    if (record.bundle && bundle && record.bundle.id !== bundle.id) await this.#quietly(() => deleteBundle(objects, owner, record.bundle!))
    for (const old of record.backups.filter(({ serial }) => !backups.some((one) => one.serial === serial))) {
      await this.#quietly(() => deleteBackup(objects, owner, old))
    }
    void clock
  }

  async #backUp(record: RunRecord): Promise<RunRecord['backups']> {
    const text = this.#states?.savedText
    if (text === undefined) return record.backups
    const { serial } = readState(text)!
    if (record.backups.some((one) => one.serial === serial)) return record.backups
    try {
      const now = toTimestamp(this.#world.clock.now())
      const made = await saveBackup(this.#world.objects, this.#request.owner, text, now)
      return [made, ...record.backups].slice(0, KEPT_BACKUPS)
    } catch (error) {
      // A namespace that is going takes no new Secrets; the state itself is held by our finalizer.
      if (isPassing(error)) throw error
      this.#say(`The state could not be copied before the change: ${messageOf(error)}`)
      return record.backups
    }
  }

  async #saveState(text: string): Promise<void> {
    const { objects, clock } = this.#world
    const { owner } = this.#request
    if (chunksOf(text) > 1) await saveBackup(objects, owner, text, toTimestamp(clock.now()))
    this.#stateParts = await saveState(objects, owner, text, this.#stateParts)
    if (chunksOf(text) > 1) {
      const { serial, addresses } = readState(text)!
      await deleteBackup(objects, owner, { serial, parts: chunksOf(text), savedAt: '', resources: addresses.length })
    }
  }

  #learnSecrets(secrets: readonly string[]): void {
    const known = [...(this.#request.workspace?.secretValues ?? []), ...(this.#credentials?.secrets ?? []), ...secrets]
    const outputs = Object.values(readState(readText(`${this.#layout?.root ?? ''}/terraform.tfstate`) ?? '')?.outputs ?? {})
    const hidden = outputs.filter(({ sensitive }) => sensitive).flatMap(({ value }) => stringsIn(value))
    this.#runLog.redactWith(createRedactor([...known, ...hidden]))
    this.#redact = createRedactor([...known, ...hidden])
  }
  #redact: (text: string) => string = createRedactor([])

  #tellPhase(phase: 'Plan' | 'Apply' | 'Save'): void {
    this.#keeper.progress((record) => ({ ...record, run: { ...record.run!, phase } }), Number.POSITIVE_INFINITY)
  }

  #tellProgress(): void {
    const progress = this.#terraform?.progress
    if (!progress) return
    const { text, address, counts } = progress
    this.#keeper.progress(
      (record) => ({
        ...record,
        ...(this.#states?.saved ? { state: this.#states.saved } : {}),
        run: { ...record.run!, progress: text, address, ...(record.run!.phase === 'Apply' ? {} : { plan: counts }) },
      }),
      this.#world.clock.now(),
    )
  }

  async #beat(): Promise<void> {
    try {
      await this.#lock?.renew()
    } catch (error) {
      this.#say(`Renewing the lock failed: ${messageOf(error)}`)
    }
  }

  #stopFault() {
    const { timeoutSeconds } = this.#request
    switch (this.#reason) {
      case 'deadline':
        return {
          kind: 'deadline' as const,
          code: 'CAPT_RUN_DEADLINE',
          message: `the run took longer than its ${timeoutSeconds} s`,
          hint: 'raise spec.timeout, or see in capt logs what takes so long; then: capt retry',
        }
      case 'disk':
        return diskFull()
      case 'cancelled':
        return { kind: 'cancelled' as const, code: 'CAPT_RUN_CANCELLED', message: 'the run was cancelled', hint: 'capt retry starts another one' }
      default:
        return { kind: 'lost' as const, code: 'CAPT_RUN_STOPPED', message: 'the runner was stopped', hint: 'the next attempt goes on from the saved state' }
    }
  }

  async #fail(error: unknown): Promise<RunEnd> {
    const fault = toRunFault(error)
    const clean = { ...fault, message: this.#redact(fault.message) }
    this.#say(`Failed: ${clean.message}`)
    return this.#close(fault.kind === 'cancelled' ? 'Cancelled' : 'Failed', clean)
  }

  async #close(phase: ClosedPhase, fault?: ReturnType<typeof toRunFault>): Promise<RunEnd> {
    const { objects, clock } = this.#world
    const { owner, verb, runId } = this.#request
    const now = () => toTimestamp(clock.now())
    this.#tellPhase('Save')
    try {
      await this.#states?.flush()
      const text = this.#states?.savedText
      if (text !== undefined && this.#terraform) await verifyState(objects, owner, text)
      if (this.#terraform?.wasKilled) this.#suspects = [...this.#suspects, ...this.#newSuspects()]
      const outputs = readState(text ?? '')?.outputs ?? {}
      let ending: { phase: ClosedPhase; fault?: typeof fault } = { phase, ...(fault ? { fault } : {}) }
      const done = phase === 'Succeeded' && verb === 'apply'
      const target = this.#layout?.workspace.connectionSecret
      if (done && target) {
        try {
          await writeConnectionSecret(objects, owner, target, outputs)
        } catch (error) {
          if (isPassing(error)) throw error
          ending = { phase: 'Failed', fault: toRunFault(error) }
        }
      }
      const hash = this.#layout?.workspace.hash ?? ''
      this.#say(ending.fault ? `Ended: ${ending.phase}` : 'Done')
      this.#runLog.close()
      const log = readFileSync(this.#folder.logOf(runId), 'utf8')
      await this.#keeper.update((record) => {
        const closed = closeRun(addSuspects(record, this.#suspects), ending.phase, now(), ending.fault)
        return {
          ...closed,
          ...(this.#states?.saved ? { state: this.#states.saved } : {}),
          ...(done ? { applied: { hash, at: now(), runId, ...publicOutputs(outputs) } } : {}),
          run: { ...closed.run!, ...(this.#terraform ? { plan: this.#terraform.progress.counts } : {}), credentials: this.#credentials?.fingerprint },
        }
      }, log)
    } catch (error) {
      this.#world.log.error('Closing the run failed', { error: messageOf(error) })
      return 'unsaved'
    }
    await this.#quietly(async () => this.#lock?.release())
    for (const path of [this.#folder.messages, this.#folder.errors, this.#folder.plan]) rmSync(path, { force: true })
    rmSync(this.#folder.vars, { recursive: true, force: true })
    removeFact(this.#folder, 'cancel')
    return 'done'
  }

  #newSuspects(): readonly Suspect[] {
    const known = new Set(readState(this.#states?.savedText ?? '')?.addresses)
    return suspectsOf(this.#terraform!.progress, known, this.#request.runId)
  }

  async #quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#world.log.warn('Cleaning up failed', { error: messageOf(error) })
    }
  }
}

function newest(a: string | undefined, b: string | undefined): string | undefined {
  const first = a === undefined ? undefined : readState(a)
  const second = b === undefined ? undefined : readState(b)
  if (!second) return first ? a : undefined
  if (!first) return b
  return first.lineage === second.lineage && second.serial > first.serial ? b : a
}
