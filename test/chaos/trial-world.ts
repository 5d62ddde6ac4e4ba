// The world of one trial: an API server of its own, managers that come and go, and what was observed of its runs on the way.
// A ledger that the resources write themselves says whether anything was lost, made twice or left behind.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { conditionOf, RETRY_ANNOTATION, type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import { copyId, loadCopy, loadState, type RunRecord, readRecord, readState } from '#engine'
import { isKubeError } from '#kube'
import { livenessOf, type ProcessIdentity } from '../../src/engine/lock/processes.ts'
import { capt } from '../support/cli-io.ts'
import { keptFor, namesOf, readLedger, readLiving, taintedIn } from '../support/engine/ledger.ts'
import { type EngineWorld, engineWorld, isStalled, type Manager } from '../support/engine/world.ts'

/** Longer than this no trial waits for anything: it is stuck. */
const STUCK_MS = 120_000
/** A stall that was answered is over by then, or it is another one. */
const ANSWERED_MS = 15_000
const ANSWERS = 4

const MANAGER = join(import.meta.dirname, '../support/engine/manager.ts')
const RUNNER = join(import.meta.dirname, '../support/engine/runner.ts')
const WAY_OUT = /capt (state|forget|retry)|restore|retainWorkspaceOnDelete/

export class TrialWorld {
  readonly engine: EngineWorld
  readonly name: string
  readonly file: string
  readonly key: { readonly namespace: string; readonly name: string }
  /** Addresses that were named as suspects, or are in a copy that was announced. */
  readonly named = new Set<string>()
  /** Instances that a saved state knew as tainted: they are destroyed without a line in the ledger. */
  readonly #tainted = new Set<string>()
  /** Secrets as they were before they were damaged: a person's backup. */
  readonly saved: Secret[] = []
  workDir: string
  /** In this process. */
  manager: Manager | undefined
  hasStalled = false
  readonly #processes = new Map<string, ProcessIdentity>()
  readonly #spawned: ChildProcess[] = []
  readonly #undo: (() => void | Promise<void>)[] = []

  private constructor(world: EngineWorld, name: string) {
    this.engine = world
    this.name = name
    this.file = join(world.folder, `ledger-${name}`)
    this.key = { namespace: 'default', name }
    this.workDir = world.workDir
  }

  static async open(name: string, world?: EngineWorld): Promise<TrialWorld> {
    return new TrialWorld(world ?? (await engineWorld()), name)
  }

  get objects() {
    return this.engine.connection.objects
  }

  /** Work folder of the workspace. */
  get folder(): string {
    return join(this.workDir, 'workspaces', namesOf(this.name).suffix)
  }

  get ledger() {
    return readLedger(this.file)
  }

  onClose(step: () => void | Promise<void>): void {
    this.#undo.push(step)
  }

  /** Another work folder, as on another machine. */
  moveElsewhere(): void {
    this.workDir = `${this.workDir}-elsewhere`
  }

  async startManager(options: Parameters<EngineWorld['manager']>[0] = {}): Promise<void> {
    this.manager = await this.engine.manager({ workDir: this.workDir, ...options })
  }

  async stopManager(): Promise<void> {
    await this.manager?.stop()
    this.manager = undefined
  }

  /** A manager as a process of its own; `within`: a command that runs it. */
  async spawnManager(
    options: {
      readonly env?: Readonly<Record<string, string>>
      readonly within?: readonly string[]
      readonly runner?: 'job'
    } = {},
  ): Promise<ChildProcess> {
    const { kubeconfig } = this.engine
    const command = [process.execPath, MANAGER, kubeconfig, this.workDir, 'terraform', options.runner ?? RUNNER, '5']
    const [program, ...args] = [...(options.within ?? []), ...command]
    const child = spawn(program!, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
    })
    this.#spawned.push(child)
    let said = ''
    child.stderr.on('data', (data: Buffer) => (said += data.toString()))
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve())
      child.once('exit', (code) => reject(new Error(`the manager ended with ${code}: ${said}`)))
    })
    return child
  }

  find(): Promise<WorkspaceTemplateApply | undefined> {
    return this.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, this.key)
  }

  async record(): Promise<RunRecord | undefined> {
    const found = await readRecord(this.objects, this.key).catch(() => undefined)
    return found?.record
  }

  /** The Terraform that the runner in this folder has started, as long as it runs. */
  terraform(folder = this.folder): ProcessIdentity | undefined {
    try {
      const text = readFileSync(join(folder, 'terraform.json'), 'utf8')
      return (JSON.parse(text) as { process: ProcessIdentity }).process
    } catch {
      return undefined
    }
  }

  /** Learns the names and the processes that are known right now. */
  async observe(): Promise<void> {
    const record = await this.record()
    for (const { address } of record?.suspects ?? []) this.named.add(address)
    for (const ref of record?.side ?? []) {
      const text = await loadCopy(this.objects, this.key, ref)
      for (const address of readState(text ?? '')?.addresses ?? []) this.named.add(address)
    }
    const saved = await loadState(this.objects, this.key).catch(() => undefined)
    for (const id of taintedIn(saved)) this.#tainted.add(id)
    for (const who of [record?.run?.runner, this.terraform(record?.run?.folder)])
      if (who) this.#processes.set(`${who.space} ${who.pid} ${who.start}`, who)
  }

  async poll(what: string, test: () => boolean | Promise<boolean>, withinMs = STUCK_MS): Promise<void> {
    const deadline = Date.now() + withinMs
    for (;;) {
      await this.observe()
      if (await test()) return
      if (Date.now() > deadline) assert.fail(`stuck: ${what} did not come; ${await this.#describe()}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  async #describe(): Promise<string> {
    const log = () => readFileSync(join(this.folder, 'runner.log'), 'utf8').slice(-1000)
    return JSON.stringify({ status: (await this.find())?.status, record: await this.record(), log: attempt(log) })
  }

  async retry(): Promise<void> {
    const body = { metadata: { annotations: { [RETRY_ANNOTATION]: `${Date.now()}` } } }
    try {
      await this.objects.patch(WorkspaceTemplateApply, this.key, { type: 'merge', body })
    } catch (error) {
      if (!/not found/i.test(String(error))) throw error
    }
  }

  remove(): Promise<unknown> {
    return this.objects.delete(WorkspaceTemplateApply, this.key)
  }

  /** Until this is true of the apply, or it is gone. A stall is answered as its message says; then it waits again. */
  async settle(what: string, test: (apply: WorkspaceTemplateApply) => boolean): Promise<void> {
    let answered: { readonly text: string; readonly at: number } | undefined
    for (let answers = 0; ; answers++) {
      let open: { readonly apply: WorkspaceTemplateApply; readonly text: string } | undefined
      await this.poll(what, async () => {
        const apply = await this.find()
        if (!apply) return true
        if (!isStalled(apply)) return test(apply)
        const text = `${apply.status?.run?.id} ${conditionOf(apply, 'Stalled')?.message}`
        const isAnswered = answered?.text === text && Date.now() - answered.at < ANSWERED_MS
        open = isAnswered ? undefined : { apply, text }
        return open !== undefined
      })
      if (!open) return
      assert.ok(answers < ANSWERS, `stalled again: ${open.text}`)
      await this.#answer(open.apply)
      answered = { text: open.text, at: Date.now() }
    }
  }

  /** As a person does: copies are looked at and dropped, lost Secrets come back from a backup. */
  async #answer(apply: WorkspaceTemplateApply): Promise<void> {
    this.hasStalled = true
    const { message = '' } = conditionOf(apply, 'Stalled') ?? {}
    assert.match(message, WAY_OUT, `no way out is named: ${message}`)
    this.assertNothingTwice()
    const { side = [] } = (await this.record()) ?? {}
    for (const ref of side) {
      const argv = ['state', 'discard', this.name, '--copy', copyId(ref), '-y', '--kubeconfig', this.engine.kubeconfig]
      const { code, stderr } = await capt(argv)
      assert.equal(code, 0, stderr)
    }
    if (side.length === 0) for (const secret of this.saved) await this.#putBack(secret)
    await this.retry()
  }

  /** The product may write it at the same time. */
  async #putBack({ metadata, data = {}, type }: Secret): Promise<void> {
    const { name, namespace, labels = {}, annotations = {} } = metadata
    const key = { namespace: 'default', name }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: namespace!, labels, annotations } }
    const overwrite = () => this.objects.patch(SecretKind, key, { type: 'merge', body: { data } })
    if (await this.objects.get<Secret>(SecretKind, key)) return void (await overwrite())
    await this.objects
      .create(SecretKind, { ...secret, ...(type ? { type } : {}), data } as Secret)
      .catch((error: unknown) => (isKubeError(error, 'AlreadyExists') ? overwrite() : Promise.reject(error)))
  }

  assertNothingTwice(): void {
    const unnamed = this.#livingUnnamed()
    const twice = unnamed.filter((one, i) => unnamed.indexOf(one) !== i)
    assert.deepEqual(twice, [], 'these were made twice and are named nowhere')
  }

  /** Deletes the apply and holds what is left against what was made. */
  async finish(): Promise<void> {
    if (await this.find()) {
      await this.observe()
      this.assertNothingTwice()
      await this.remove()
      await this.settle('the end of the deletion', () => false)
    }
    assert.deepEqual(this.#livingUnnamed(), [], 'these were left behind without a word')
    assert.deepEqual(await keptFor(this.objects, this.name), [], 'something is kept')
    await this.poll('the end of every process', () => this.#left().length === 0, 30_000)
  }

  /** Indexes of what exists and is named nowhere. */
  #livingUnnamed(): readonly string[] {
    return readLiving(this.file, this.#tainted).filter((index) => !this.named.has(addressOf(index)))
  }

  #left(): readonly ProcessIdentity[] {
    return [...this.#processes.values()].filter((who) => livenessOf(who) === 'alive')
  }

  async close(): Promise<void> {
    await this.stopManager()
    for (const child of this.#spawned) child.kill('SIGKILL')
    for (const { pid } of this.#left()) {
      attempt(() => process.kill(pid, 'SIGCONT'))
      attempt(() => process.kill(-pid, 'SIGKILL'))
      attempt(() => process.kill(pid, 'SIGKILL'))
    }
    for (const step of this.#undo.reverse()) await step()
    await this.engine.close()
    rmSync(this.engine.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

const addressOf = (index: string): string => `terraform_data.x[${index}]`

export function attempt<T>(step: () => T): T | undefined {
  try {
    return step()
  } catch {
    return undefined
  }
}
