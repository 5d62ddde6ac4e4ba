// Two built managers on one API server, each under a name and behind a gate of its own, and objects that always give the
// leader something to write. Runs last until the test lets them end, and write down what they made.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LeaseKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { clusterDefinition, resourceSetDefinitions } from '#core'
import { loadState, type RunRecord, readRecord, readState } from '#engine'
import { anApply, aTemplate } from '#testing'
import { type Api, isTrue, openApi } from '../api.ts'
import { type Request, requestsSince } from '../audit.ts'
import { type Kube, type LabUser, startKube, tail, until } from '../lab.ts'
import { HOME_NAMESPACE, installCrds, type ManagerProcess, startManagerProcess, writeTemp } from '../world.ts'
import { type Gate, openGate } from './gate.ts'
import { LEASE } from './leadership-terms.ts'

export interface Competitor {
  readonly user: LabUser
  readonly gate: Gate
  /** The process that was started last. */
  readonly process: ManagerProcess
  start(): Promise<void>
  says(text: string): boolean
  isAlive(): boolean
  /** Resolves when the process has ended by itself or by a signal of the test. */
  ended(): Promise<void>
}

export interface CompetingManagers {
  readonly kube: Kube
  readonly api: Api
  readonly folder: string
  readonly both: readonly [Competitor, Competitor]
  leader(): Promise<Competitor>
  /** Resolves when this one holds the Lease and its controllers work. */
  leads(competitor: Competitor): Promise<void>
  /** A run that makes three things at once and a fourth after `letEnd`. */
  startRun(name: string): Promise<void>
  letEnd(name: string): void
  made(name: string): readonly string[]
  record(name: string): Promise<RunRecord | undefined>
  /** Addresses in the saved state. */
  saved(name: string): Promise<readonly string[]>
  isReady(name: string): Promise<boolean>
  /** Everything that was asked until now is in it. */
  audited(): Promise<Request[]>
  eventually(what: string, check: () => boolean | Promise<boolean>, seconds?: number): Promise<void>
  stop(): Promise<void>
}

const RESTLESS = 8
const RESTLESS_MS = 200
const RUNS_AT_ONCE = 2

export async function startCompetingManagers(): Promise<CompetingManagers> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-real-managers-'))
  const undo: (() => Promise<unknown> | unknown)[] = [
    () => process.env['CAPT_REAL_KEEP'] || rmSync(folder, { recursive: true, force: true }),
  ]
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const kube = await startKube({ name: 'managers', audit: true, controllers: false })
    undo.push(() => kube.stop())
    const core = [clusterDefinition(), ...resourceSetDefinitions()].map((crd) => JSON.stringify(crd)).join('\n---\n')
    kube.kubectl(['apply', '--server-side', '-f', '-'], core)
    installCrds(kube)
    const api = openApi(kube)
    undo.push(() => api.close())
    await api.create(WorkspaceTemplate, aTemplate(MODULE, {}, { name: 'slow' }))
    undo.push(await startRestlessness(api))

    const competitorOf = async (user: LabUser): Promise<Competitor> => {
      const gate = await openGate(kube.port)
      undo.push(() => gate.close())
      const kubeconfig = writeTemp(folder, `${user}.kubeconfig`, behind(gate, kube, user))
      const workDir = join(folder, `runs-${user}`)
      let current: ManagerProcess
      undo.push(async () => {
        if (current && isAlive(current.pid)) process.kill(current.pid, 'SIGCONT')
        await current?.stop()
      })
      const competitor: Competitor = {
        user,
        gate,
        get process() {
          return current
        },
        async start() {
          const args = ['--leader-elect', '--concurrent-runs', String(RUNS_AT_ONCE)]
          current = await startManagerProcess(kubeconfig, folder, args, {}, { early: true, workDir })
        },
        says: (text) => readFileSync(current.log, 'utf8').includes(text),
        isAlive: () => isAlive(current.pid),
        ended: () => until(`manager ${user} ends`, () => !isAlive(current.pid), 120, current),
      }
      return competitor
    }
    const both = [await competitorOf('capt'), await competitorOf('capt-2')] as const
    const fileOf = (name: string, word: string) => join(folder, `${name}.${word}`)
    const leader = async (): Promise<Competitor> => {
      const lease = await api.find(LeaseKind, LEASE, HOME_NAMESPACE)
      const holder = lease?.['spec'].holderIdentity as string | undefined
      // The one that waits names the holder too, so only the line about itself counts.
      const found = both.find((competitor) => competitor.process && competitor.says(`"identity":"${holder}"`))
      if (!found) throw new Error(`nobody leads; the Lease says ${JSON.stringify(lease?.['spec'])}`)
      return found
    }
    // Runs that a failed test left waiting end with the test.
    undo.push(() => writeFileSync(join(folder, 'over'), ''))
    return {
      kube,
      api,
      folder,
      both,
      leader,
      leads: (competitor) =>
        until(
          `${competitor.user} leads`,
          async () => (await leader()) === competitor && competitor.says('Started controllers'),
          120,
          competitor.process,
        ),
      async startRun(name) {
        const variables = { ledger: fileOf(name, 'ledger'), go: fileOf(name, 'go'), over: join(folder, 'over') }
        await api.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'slow' }, variables }, { name }))
      },
      letEnd: (name) => writeFileSync(fileOf(name, 'go'), ''),
      made: (name) =>
        existsSync(fileOf(name, 'ledger'))
          ? readFileSync(fileOf(name, 'ledger'), 'utf8').split('\n').filter(Boolean).sort()
          : [],
      record: async (name) => (await readRecord(api.client, { namespace: 'default', name }))?.record,
      saved: async (name) =>
        readState((await loadState(api.client, { namespace: 'default', name })) ?? '')?.addresses ?? [],
      isReady: async (name) => isTrue(await api.get(WorkspaceTemplateApply, name), 'Ready'),
      async audited() {
        const mark = `mark-${Date.now()}`
        await api.find(WorkspaceTemplate, mark)
        await until('the audit log is written', () => requestsSince(kube).some(({ name }) => name === mark))
        return requestsSince(kube)
      },
      async eventually(what, check, seconds = 120) {
        try {
          await until(what, check, seconds)
        } catch (error) {
          const logs = both.map(({ user, process }) => `${user}:\n${process ? tail(process.log, 12) : 'never started'}`)
          throw new Error([(error as Error).message, ...logs].join('\n'))
        }
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function behind(gate: Gate, kube: Kube, user: LabUser): string {
  return readFileSync(kube.kubeconfigOf(user), 'utf8').replaceAll(kube.url, gate.url)
}

/** Applies whose template is missing and whose variables change all the time: each change is one status to write. */
async function startRestlessness(api: Api): Promise<() => Promise<void>> {
  const names = Array.from({ length: RESTLESS }, (_, i) => `restless-${i}`)
  for (const name of names)
    await api.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'missing' } }, { name }))
  let ended = false
  const work = (async () => {
    for (let i = 0; !ended; i++) {
      await api.patch(WorkspaceTemplateApply, names[i % RESTLESS]!, { spec: { variables: { turn: String(i) } } })
      await new Promise((resolve) => setTimeout(resolve, RESTLESS_MS))
    }
  })()
  return async () => {
    ended = true
    await work
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const MODULE = `
variable "ledger" { type = string }
variable "go" { type = string }
variable "over" { type = string }
resource "terraform_data" "x" {
  count = 3
  input = count.index
  provisioner "local-exec" {
    command = "echo made \${self.input} >> \${var.ledger}"
  }
}
resource "terraform_data" "wait" {
  depends_on = [terraform_data.x]
  provisioner "local-exec" {
    command = "while [ ! -e \${var.go} ] && [ ! -e \${var.over} ]; do sleep 0.2; done"
  }
}
resource "terraform_data" "last" {
  depends_on = [terraform_data.wait]
  provisioner "local-exec" {
    command = "echo made 3 >> \${var.ledger}"
  }
}
`
