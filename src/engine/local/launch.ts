// Starts one runner as a process of its own: in its own group, its output in a file, nothing secret in its arguments.
// While it is still starting, what it would ask the API server first is done in its name.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Objects } from '#kube'
import { CaptError, type Clock, type Log, messageOf } from '#lib'
import type { Tool } from '../find-terraform.ts'
import { acquireLock, NO_LOCK } from '../lock.ts'
import type { StartRequest } from '../port.ts'
import type { Versioned } from '../record/record-store.ts'
import { type RunRequest, writeFact } from '../runner/folder.ts'
import type { Handover } from '../runner/handover.ts'
import { glanceAtState } from '../state/state-store.ts'

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
  /** The kubeconfig of runners names the authority that they trust: they need no other. */
  readonly hasAuthority?: boolean
  /** Read-only provider mirror, for machines without a registry. */
  readonly providerMirror?: string
}

export const GRACE_SECONDS = 120

/**
 * The process alone: it waits for its standard input to end before it looks for anything to do. So it can be started
 * before the record is written, and the record names it from its first word on.
 */
export function launchRunner(folder: string, options: LocalEngineOptions): ChildProcess {
  const { workDir, kubeconfigForRunner, log } = options
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const [program, ...first] = options.runner ?? [process.execPath, ...ownFlags(process.execArgv), process.argv[1]!]
  const args = [...first, 'runner', '--folder', folder, '--kubeconfig', kubeconfigForRunner, '--settled']
  const output = openSync(join(folder, 'runner.log'), 'w', 0o600)
  try {
    const env = { ...process.env, ...runnerEnvironment(workDir, options.hasAuthority ?? false) }
    const child = spawn(program!, args, { detached: true, stdio: ['pipe', output, output], cwd: folder, env })
    child.on('error', (error) => log.error('Starting a runner failed', { error: messageOf(error) }))
    // One that has died does not listen: its end is what we hear of.
    child.stdin?.on('error', () => undefined)
    child.unref()
    return child
  } finally {
    closeSync(output)
  }
}

/** A process that never was: no record may name it, and whoever wanted the run backs off. */
export async function startFailure(child: ChildProcess): Promise<CaptError> {
  const [cause]: readonly unknown[] = await once(child, 'error')
  return new CaptError(
    'CAPT_RUNNER_NOT_STARTED',
    `the runner of a Terraform run cannot be started: ${messageOf(cause)}`,
    {
      hint: 'check that the program is still there and that the machine has room for more processes and files',
      cause,
    },
  )
}

/** The heap of a manager is bounded by what a fleet needs; a runner has one state in hand, as large as that is. */
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

/** Tells a runner what to do, once the record says so. */
export function writeRequest(request: StartRequest, seen: Versioned, tool: Tool, options: LocalEngineOptions): void {
  const run = seen.record.run!
  const { owner, verb, workspace, credentials, timeoutSeconds } = request
  const { workDir, graceSeconds = GRACE_SECONDS, providerMirror } = options
  const asked: RunRequest = {
    runId: run.id,
    verb,
    owner,
    ...(workspace ? { workspace } : {}),
    ...(credentials ? { credentials } : {}),
    tool,
    seen,
    timeoutSeconds,
    graceSeconds,
    shared: workDir,
    ...(providerMirror === undefined ? {} : { providerMirror }),
  }
  writeFact({ path: run.folder }, 'request', asked)
}

/** What is done for a runner while it is still starting; in the order in which it would do it. */
export async function settleFor(
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
  const saved = await glanceAtState(objects, owner)
  return { seen, isLocked: true, ...(saved ? { saved } : {}) }
}
