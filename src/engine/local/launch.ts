// Starts one runner as a process of its own: in its own group, its output in a file, nothing secret in its arguments.
// While it is still starting, its first requests to the API server are made on its behalf.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Objects } from '#kube'
import { CaptError, type Clock, type Log, messageOf } from '#lib'
import { acquireLock, NO_LOCK } from '../lock/lock.ts'
import type { StartRequest, TagCounter } from '../port.ts'
import type { Limits } from '../queue/limits.ts'
import type { Versioned } from '../record/record-store.ts'
import { type RunRequest, toRunRequest, writeFact } from '../runner/inputs/folder.ts'
import type { Handover } from '../runner/record/handover.ts'
import { readSmallState } from '../state/state-store.ts'
import type { Tool } from '../tool/find-terraform.ts'

export interface LocalEngineOptions {
  readonly objects: Objects
  /** Everything on disk is below this folder. */
  readonly workDir: string
  readonly clock: Clock
  readonly log: Log
  readonly limits?: Limits
  readonly terraform?: { readonly binary?: string }
  /** Kubeconfig by which runners reach the same API server. */
  readonly kubeconfigForRunner: string
  /** Program and first arguments that run `capt runner`; this very program when left out. */
  readonly runner?: readonly string[]
  /** How long Terraform may take to stop when it is asked to. */
  readonly graceSeconds?: number
  /** The kubeconfig of runners names the authority that they trust: they need no other. */
  readonly hasAuthority?: boolean
  /** Read-only provider mirror, for machines without a registry. */
  readonly providerMirror?: string
  /** Counts what a workspace has in the cloud; left out where there is none. */
  readonly countTagged?: TagCounter
}

export const GRACE_SECONDS = 120

/**
 * The process alone: it waits for its standard input to end before it reads its request. So it can be started before the
 * record is written, and the record names it from the first version on.
 */
export function launchRunner(folder: string, options: LocalEngineOptions): ChildProcess {
  const { workDir, kubeconfigForRunner, log } = options
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const [program, ...first] = options.runner ?? [process.execPath, ...ownFlags(process.execArgv), process.argv[1]!]
  const args = [...first, 'runner', '--folder', folder, '--kubeconfig', kubeconfigForRunner, '--handover']
  const output = openSync(join(folder, 'runner.log'), 'w', 0o600)
  try {
    const env = { ...process.env, ...runnerEnvironment(workDir, options.hasAuthority ?? false) }
    const child = spawn(program!, args, { detached: true, stdio: ['pipe', output, output], cwd: folder, env })
    child.on('error', (error) => log.error('Starting a runner failed', { error: messageOf(error) }))
    // Writing to a runner that has died fails: its exit is reported anyway.
    child.stdin?.on('error', () => undefined)
    child.unref()
    return child
  } finally {
    closeSync(output)
  }
}

/** The process was not created: no record may name it, and the caller backs off. */
export async function startFailure(child: ChildProcess): Promise<CaptError> {
  const [cause]: readonly unknown[] = await once(child, 'error')
  return new CaptError(
    'CAPT_RUNNER_NOT_STARTED',
    `the runner of a Terraform run cannot be started: ${messageOf(cause)}`,
    {
      hint: 'check that the program is still there and that the machine can start more processes and open more files',
      cause,
    },
  )
}

/** The heap of a manager is bounded by what a fleet needs; a runner holds one state, as large as that is. */
export function ownFlags(flags: readonly string[]): readonly string[] {
  return flags.filter((flag) => !flag.startsWith('--max-old-space-size'))
}

/** Runners start often and live shortly: what Node would compile or read for each of them is spared. */
function runnerEnvironment(workDir: string, hasAuthority: boolean): Readonly<Record<string, string>> {
  const { NODE_COMPILE_CACHE = join(workDir, 'compiled'), NODE_OPTIONS = '' } = process.env
  // Otherwise every one of them parses some hundred certificates that nobody asks for.
  const lean = { NODE_EXTRA_CA_CERTS: '', NODE_OPTIONS: `${NODE_OPTIONS} --use-openssl-ca` }
  return { NODE_COMPILE_CACHE, ...(hasAuthority ? lean : {}) }
}

/** Writes the request of a runner, once the record has the run. */
export function writeRequest(request: StartRequest, seen: Versioned, tool: Tool, options: LocalEngineOptions): void {
  const run = seen.record.run!
  const { workDir, graceSeconds = GRACE_SECONDS, providerMirror } = options
  const asked: RunRequest = {
    ...toRunRequest(request, run.id, graceSeconds),
    tool,
    seen,
    shared: workDir,
    ...(providerMirror === undefined ? {} : { providerMirror }),
  }
  writeFact({ path: run.folder }, 'request', asked)
}

/** What is done for a runner while it is still starting; in the order in which it would do it. */
export async function prepareHandover(
  seen: Versioned,
  { owner, verb }: StartRequest,
  { version }: Tool,
  { objects, clock }: LocalEngineOptions,
): Promise<Handover> {
  const { id, runner } = seen.record.run!
  const nothing = { seen, isLocked: false }
  if (!runner) return nothing
  const answer = await acquireLock(objects, clock, { owner, runId: id, verb, holder: runner, toolVersion: version })
  if (answer.is !== 'held' || answer.lock === NO_LOCK) return nothing
  const saved = await readSmallState(objects, owner)
  return { seen, isLocked: true, ...(saved ? { saved } : {}) }
}
