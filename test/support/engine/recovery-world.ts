// Kills managers, runners and Terraform for real, in a chosen phase, and compares what was made with what is known. A
// ledger that the resources themselves write is the witness: it survives everything we kill.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Lease, LeaseKind, type Secret, SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import {
  folderOf,
  leaseName,
  loadState,
  PART_LABEL,
  type RunRecord,
  readRecord,
  readState,
  type StateInfo,
  suffixOf,
  WORKSPACE_LABEL,
} from '#engine'
import { anApply, aTemplate } from '#testing'
import { type EngineWorld, engineWorld } from './world.ts'

export const PHASES = ['before-start', 'init', 'between', 'first', 'apply', 'after-apply', 'destroy'] as const
export type Phase = (typeof PHASES)[number]
/** `machine`: all three die, and with them everything on their disk. */
export const VICTIMS = ['manager', 'runner', 'terraform', 'all', 'machine'] as const
export type Victim = (typeof VICTIMS)[number]

const RESOURCES = 6
const KEY = { namespace: 'default', name: 'victim' }

export interface RecoveryWorld extends EngineWorld {
  /** Starts a manager process; after the loss of a machine it is on another one, with a work folder of its own. */
  startManager(): Promise<ChildProcess>
  /** Resources and the ledger they write. */
  createApply(): Promise<void>
  /** Takes both away again, by way of the manager. */
  removeApply(): Promise<void>
  ledger(): readonly string[]
  /** Commands that Terraform was called with for this apply, in order. A real server may have others to run. */
  commands(): readonly string[]
  /** The next apply ends as if its plan were not good for the state that is there. */
  refuseNextApply(): void
  /** Resolves when a plan lies in a Secret. */
  untilStored(): Promise<void>
  /** What Terraform has said in the run that is on. */
  messages(): string
  state(): Promise<StateInfo | undefined>
  /** Resolves when Terraform (or what stands for it) has reached this phase. */
  reach(phase: Phase): Promise<void>
  record(): Promise<RunRecord | undefined>
  untilRecord(test: (record: RunRecord) => boolean): Promise<void>
  /** Returns how many resources had been made by then. */
  kill(victim: Victim, manager: ChildProcess): Promise<number>
  /** Takes the API server away for a while; it comes back on the same port with everything it had. */
  withoutServer(ms: number): Promise<void>
  /** Ends every process this world started. */
  stopAll(): Promise<void>
  /** Whatever happened: nothing forgotten, nothing made twice unless named, no lock without a holder. */
  assertWhole(): Promise<void>
}

const RUNNER = join(import.meta.dirname, 'runner.ts')
const MANAGER = join(import.meta.dirname, 'manager.ts')

export interface RecoveryOptions {
  /** Terraform stops here for `pauseSeconds`. */
  readonly pauseAt?: Phase
  readonly pauseSeconds?: number
  /** What a resource does before it says that it was made; `i` is its number. */
  readonly slow?: string
  /** All but the first two resources are not made before something is killed. */
  readonly hold?: boolean
}

export async function recoveryWorld(options: RecoveryOptions = {}): Promise<RecoveryWorld> {
  const { pauseAt, pauseSeconds = 2, hold = false } = options
  const world = await engineWorld()
  const marks = join(world.folder, 'marks')
  mkdirSync(marks)
  const ledgerFile = join(world.folder, 'ledger')
  writeFileSync(ledgerFile, '')
  const commandsFile = join(world.folder, 'commands')
  writeFileSync(commandsFile, '')
  const holdFile = join(world.folder, 'hold')
  if (hold) writeFileSync(holdFile, '')
  const held = `test $i -lt 2 || while test -f ${holdFile}; do sleep 0.1; done;`
  const slow = options.slow ?? (hold ? held : 'sleep $((i / 2));')
  const binary = join(world.folder, 'terraform')
  writeFileSync(binary, slowTerraform(marks, commandsFile, pauseAt, pauseSeconds))
  chmodSync(binary, 0o755)
  const children: ChildProcess[] = []
  const { objects } = world.connection
  const record = async () => (await readRecord(objects, KEY))?.record
  let { workDir } = world
  const folderIn = (path: string) => folderOf(join(path, 'workspaces', suffixOf(KEY)))
  let folder = folderIn(workDir)

  const waitFor = async (what: string, test: () => boolean | Promise<boolean>) => {
    const deadline = Date.now() + 120_000
    while (!(await test())) {
      if (Date.now() > deadline) assert.fail(`${what} did not happen; ${JSON.stringify(await record(), null, 1)}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  const ledger = () => readFileSync(ledgerFile, 'utf8').split('\n').filter(Boolean)
  const isReached = (phase: Phase) => {
    if (phase === 'before-start') return existsSync(join(folder.path, 'request.json'))
    if (phase === 'first')
      return existsSync(folder.messages) && readFileSync(folder.messages, 'utf8').includes('apply_start')
    if (phase === 'apply') return ledger().filter((line) => line.startsWith('made')).length >= 2
    if (phase === 'destroy') return ledger().filter((line) => line.startsWith('gone')).length >= 2
    return existsSync(join(marks, phase))
  }
  const terraformPid = () => {
    try {
      const { process } = JSON.parse(readFileSync(join(folder.path, 'terraform.json'), 'utf8')) as {
        process: { pid: number }
      }
      return process.pid
    } catch {
      return undefined
    }
  }
  const slay = (pid: number | undefined) => {
    if (pid === undefined || Number.isNaN(pid)) return
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // Gone by itself.
    }
  }

  const plans = async () => {
    const names: string[] = []
    for await (const { metadata } of objects.list<Secret>(SecretKind, { namespace: KEY.namespace }))
      if (metadata.labels?.[PART_LABEL] === 'plan' && metadata.labels[WORKSPACE_LABEL] === suffixOf(KEY))
        names.push(metadata.name)
    return names
  }

  const stopAll = async () => {
    for (const child of children) slay(child.pid)
    slay((await record().catch(() => undefined))?.run?.runner?.pid)
    slay(terraformPid())
  }

  return {
    ...world,
    record,
    ledger,
    commands: () =>
      readFileSync(commandsFile, 'utf8')
        .split('\n')
        .filter((line) => line.includes(`/${suffixOf(KEY)}/`))
        .map((line) => line.split(' ')[0]!),
    untilStored: () => waitFor('the storing of the plan', async () => (await plans()).length > 0),
    refuseNextApply: () => writeFileSync(join(marks, 'refuse'), ''),
    messages: () => (existsSync(folder.messages) ? readFileSync(folder.messages, 'utf8') : ''),
    state: async () => readState((await loadState(objects, KEY)) ?? ''),
    async startManager() {
      const child = spawn(process.execPath, [MANAGER, world.kubeconfig, workDir, binary, RUNNER, '5'], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      children.push(child)
      let said = ''
      child.stderr.on('data', (data: Buffer) => {
        said += data.toString()
      })
      await new Promise<void>((resolve, reject) => {
        child.stdout.once('data', () => resolve())
        child.once('exit', (code) => reject(new Error(`the manager ended with ${code}: ${said}`)))
      })
      return child
    },
    async createApply() {
      await world.create(
        WorkspaceTemplate,
        aTemplate(module(ledgerFile, slow), { initArgs: ['-upgrade'] }, { name: 'ledger' }),
      )
      await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'ledger' } }, { name: KEY.name }))
    },
    async removeApply() {
      const template = { namespace: KEY.namespace, name: 'ledger' }
      await objects.delete(WorkspaceTemplateApply, KEY)
      await world.untilGone(KEY.name)
      assert.deepEqual(await plans(), [], 'a plan outlives its apply')
      await objects.delete(WorkspaceTemplate, template)
      await waitFor('the end of the template', async () => !(await objects.get(WorkspaceTemplate, template)))
    },
    untilRecord: (test) =>
      waitFor('what the record should say', async () => {
        const now = await record()
        return now !== undefined && test(now)
      }),
    reach: (phase) => waitFor(`the phase ${phase}`, () => isReached(phase)),
    async kill(victim, manager) {
      const runner = (await record())?.run?.runner?.pid
      const isAll = victim === 'all' || victim === 'machine'
      if (victim === 'manager' || isAll) slay(manager.pid)
      if (victim === 'runner' || isAll) slay(runner)
      const made = ledger().length
      if (victim === 'terraform' || isAll) slay(terraformPid())
      if (victim === 'machine') {
        // What Terraform had started dies too, and no file is left that anybody could learn from.
        slay(-(terraformPid() ?? Number.NaN))
        rmSync(workDir, { recursive: true, force: true })
        workDir = join(world.folder, 'runs-elsewhere')
        folder = folderIn(workDir)
      }
      rmSync(holdFile, { force: true })
      rmSync(marks, { recursive: true, force: true })
      mkdirSync(marks)
      // From here on nothing is slow any more.
      writeFileSync(binary, slowTerraform(marks, commandsFile, undefined, 0))
      return made
    },
    withoutServer: (ms) => world.restartServer(ms),
    async assertWhole() {
      const now = await record()
      const state = readState((await loadState(objects, KEY)) ?? '')
      const suspects = new Set(now?.suspects.map(({ address }) => address))
      for (let i = 0; i < RESOURCES; i++) {
        const address = `terraform_data.x[${i}]`
        const made = ledger().filter((line) => line === `made ${i}`).length
        assert.ok(state?.addresses.includes(address), `${address} was made and is forgotten`)
        if (!suspects.has(address)) assert.equal(made, 1, `${address} was made ${made} times and is not suspected`)
      }
      const lease = await objects.get<Lease>(LeaseKind, { namespace: KEY.namespace, name: leaseName(suffixOf(KEY)) })
      assert.ok(!lease?.spec?.holderIdentity, 'the lock outlives its holder')
      assert.deepEqual(await plans(), [], 'a plan outlives its run')
    },
    stopAll,
    async close() {
      await stopAll()
      await world.close()
    },
  }
}

/** Each resource takes its time, and writes down that it was made or destroyed. */
function module(ledger: string, slow: string): string {
  return `
resource "terraform_data" "x" {
  count = ${RESOURCES}
  input = { ledger = ${JSON.stringify(ledger)}, index = count.index }
  provisioner "local-exec" {
    command = <<-EOT
      i=\${count.index}; ${slow} echo made $i >> \${self.input.ledger}
    EOT
  }
  provisioner "local-exec" {
    when    = destroy
    command = "sleep 0.$((2 + \${self.input.index})); echo gone \${self.input.index} >> \${self.input.ledger}"
  }
}
output "count" { value = length(terraform_data.x) }
`
}

/** Terraform that stops for a while in one phase, so that a test can strike there. */
function slowTerraform(marks: string, commands: string, at: Phase | undefined, seconds: number): string {
  const stop = (phase: string) => `touch ${marks}/${phase}; sleep ${seconds}`
  return `#!/bin/sh
echo "$1 $PWD" >> ${commands}
if [ "$1" = apply ] && rm ${marks}/refuse 2>/dev/null; then
  echo '{"@level":"error","@message":"Error: Saved plan is stale","type":"diagnostic","diagnostic":{"severity":"error","summary":"Saved plan is stale","detail":""}}'
  exit 1
fi
case "$1" in
  init) ${at === 'init' ? stop('init') : ':'} ;;
  apply) ${at === 'between' ? stop('between') : ':'} ;;
esac
${at === 'after-apply' ? `if [ "$1" = apply ]; then terraform "$@"; code=$?; ${stop('after-apply')}; exit $code; fi` : ''}
exec terraform "$@"
`
}
