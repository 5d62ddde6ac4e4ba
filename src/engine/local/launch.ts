// Starts one runner as a process of its own: in its own group, its output in a file, nothing secret in its arguments.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Objects } from '#kube'
import { type Clock, type Log, messageOf } from '#lib'
import type { Tool } from '../find-terraform.ts'
import type { StartRequest } from '../port.ts'
import type { Versioned } from '../record/record-store.ts'
import { type RunRequest, writeFact } from '../runner/folder.ts'

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

const GRACE_SECONDS = 120

export function launchRunner(
  request: StartRequest,
  seen: Versioned,
  tool: Tool,
  options: LocalEngineOptions,
): ChildProcess {
  const run = seen.record.run!
  const { owner, verb, workspace, credentials, timeoutSeconds } = request
  const { workDir, kubeconfigForRunner, graceSeconds = GRACE_SECONDS, providerMirror, log } = options
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
  mkdirSync(run.folder, { recursive: true, mode: 0o700 })
  writeFact({ path: run.folder }, 'request', asked)
  const [program, ...first] = options.runner ?? [process.execPath, ...process.execArgv, process.argv[1]!]
  const args = [...first, 'runner', '--folder', run.folder, '--kubeconfig', kubeconfigForRunner]
  const output = openSync(join(run.folder, 'runner.log'), 'w', 0o600)
  try {
    // Runners start often and live shortly: what Node compiled once is kept beside their folders.
    const env = { NODE_COMPILE_CACHE: join(workDir, 'compiled'), ...process.env }
    const child = spawn(program!, args, { detached: true, stdio: ['ignore', output, output], cwd: run.folder, env })
    child.on('error', (error) => log.error('Starting a runner failed', { error: messageOf(error) }))
    child.unref()
    return child
  } finally {
    closeSync(output)
  }
}
