// The work folder of one workspace: a fixed path, because Terraform remembers it. Readable by us alone; what people and
// managers look at is written beside and then moved into place, so nobody sees half a file.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseJson } from '#lib'
import type { ProcessIdentity } from '../../lock/processes.ts'
import { suffixOf } from '../../names.ts'
import type { Owner } from '../../owner.ts'
import type { StartRequest } from '../../port.ts'
import type { JobRef, RunRecord } from '../../record/record.ts'
import type { Versioned } from '../../record/record-store.ts'
import type { Tool } from '../../tool/find-terraform.ts'
import type { ObjectKey } from '../../workspace.ts'

/** What every engine passes on of a request; a new field of it reaches the runner by itself. */
export interface RunRequest extends ReturnType<typeof toRunRequest> {
  readonly tool: Tool
  /** What wrote the state, where the record of this run does not say: `tofu 1.10.6`. */
  readonly lastTool?: string
  /** The record as it was written for this run. */
  readonly seen?: Versioned
  /** Folder shared by all workspaces: provider packages. */
  readonly shared: string
  /** Read-only provider mirror, for machines without a registry. */
  readonly providerMirror?: string
  /** The Job whose pod this runner is; a run that was given to another Job is not done here. */
  readonly job?: JobRef
}

/** `graceSeconds`: how long Terraform may take to stop when it is asked to. */
export function toRunRequest(request: StartRequest, runId: string, graceSeconds: number) {
  const {
    hash: _hash,
    retryToken: _retryToken,
    expected: _expected,
    named: _named,
    basedOn: _basedOn,
    ...passedOn
  } = request
  return { ...passedOn, runId, graceSeconds }
}

/** The last report of the runner. */
interface Report {
  readonly record: RunRecord
  /** Whether the API server has it too. */
  readonly saved: boolean
}

export interface TerraformProcess {
  readonly process: ProcessIdentity
  readonly step: string
}

export type CancelReason = 'cancelled' | 'deadline' | 'shutdown'

export interface Folder {
  readonly path: string
  /** Where Terraform runs, without the entrypoint. */
  readonly work: string
  readonly vars: string
  readonly credentials: string
  readonly plan: string
  readonly messages: string
  readonly errors: string
  readonly stateCopy: string
  /** Where the state is kept while the work folder is recreated. */
  readonly stateAside: string
  logOf(runId: string): string
}

export function folderOf(path: string): Folder {
  return {
    path,
    work: join(path, 'work'),
    vars: join(path, 'vars'),
    credentials: join(path, 'credentials'),
    plan: join(path, 'plan.bin'),
    messages: join(path, 'run.jsonl'),
    errors: join(path, 'run.err'),
    stateCopy: join(path, 'last-state.json'),
    stateAside: join(path, 'state-aside.json'),
    logOf: (runId) => join(path, 'logs', `${runId}.log`),
  }
}

export function folderPath(workDir: string, key: ObjectKey): string {
  return join(workDir, 'workspaces', suffixOf(key))
}

const FILES = {
  request: 'request.json',
  report: 'report.json',
  process: 'terraform.json',
  cancel: 'cancel.json',
  owner: 'owner.json',
} as const
type FileOf = {
  readonly request: RunRequest
  readonly report: Report
  readonly process: TerraformProcess
  readonly cancel: { readonly runId: string; readonly reason: CancelReason }
  readonly owner: {
    readonly workspaceId: string
    /** Of the apply: distinguishes a folder whose record was lost from that of an earlier apply. */
    readonly uid?: string
  }
}

export function writeFact<K extends keyof FileOf>(folder: Pick<Folder, 'path'>, name: K, value: FileOf[K]): void {
  writeWhole(join(folder.path, FILES[name]), JSON.stringify(value))
}

export function readFact<K extends keyof FileOf>(folder: Pick<Folder, 'path'>, name: K): FileOf[K] | undefined {
  try {
    return parseJson(readFileSync(join(folder.path, FILES[name]), 'utf8')) as FileOf[K]
  } catch {
    return undefined
  }
}

/** What a folder of this very apply knows of its workspace; undefined where it is that of another one. */
export function readOwnFolder(
  folder: Pick<Folder, 'path'>,
  { uid }: Pick<Owner, 'uid'>,
): { readonly workspaceId: string; readonly report: RunRecord | undefined } | undefined {
  const owner = readFact(folder, 'owner')
  if (owner?.uid !== uid || uid === '') return undefined
  const record = readFact(folder, 'report')?.record
  return { workspaceId: owner.workspaceId, report: record?.workspaceId === owner.workspaceId ? record : undefined }
}

export function removeFact(folder: Pick<Folder, 'path'>, name: keyof FileOf): void {
  rmSync(join(folder.path, FILES[name]), { force: true })
}

/** Only the logs of runs that are still known stay. */
export function pruneLogs(folder: Folder, history: readonly { readonly id: string }[]): void {
  const known = new Set(history.map(({ id }) => folder.logOf(id)))
  const logs = dirname(folder.logOf(''))
  for (const name of readdirSync(logs)) if (!known.has(join(logs, name))) rmSync(join(logs, name), { force: true })
}

/** All or nothing: the name never points to a half-written file. */
export function writeWhole(path: string, text: string | Buffer): void {
  const draft = `${path}.${process.pid}.draft`
  const write = () => writeFileSync(draft, text, { mode: 0o600 })
  try {
    try {
      write()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      write()
    }
    renameSync(draft, path)
  } catch (error) {
    // On a full disk half a draft takes space that others need.
    rmSync(draft, { force: true })
    throw error
  }
}

export function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
