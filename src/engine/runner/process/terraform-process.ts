// One Terraform command as a process of its own group. Its output goes to a file, which we read: a pipe would kill
// Terraform together with us. The next runner finds it by the process file.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { type Clock, pause } from '#lib'
import { findLeaders, identityOf, isGroupAlive, livenessOf, signal } from '../../lock/processes.ts'
import { type Folder, readFact, removeFact, type TerraformProcess, writeFact } from '../inputs/folder.ts'
import { onWriteError } from './disk.ts'
import { Tail } from './tail.ts'

const POLL_MS = 100
const KILL_AFTER_SECOND_MS = 10_000
/** Children that outlive a dead Terraform get this long to finish what they do. */
const ORPHAN_CHILD_MS = 30_000

interface Step {
  readonly binary: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly name: string
}

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface StepOptions {
  readonly clock: Clock
  readonly onLine: (line: string) => void
  readonly onError: (line: string) => void
  /** Asks Terraform to stop: once, then more firmly when the grace is over. */
  readonly stop: AbortSignal
  readonly graceMs: number
}

/** Marks every process of a workspace, so that it is found even if its pid was never written down. */
const FOLDER_VARIABLE = 'TF_WORK_FOLDER_OF_CAPT'

export async function runStep(folder: Folder, step: Step, options: StepOptions): Promise<Ended> {
  const { clock, onLine, onError, stop, graceMs } = options
  const messages = new Tail(folder.messages, 'end')
  const errors = new Tail(folder.errors, 'end')
  const out = openSync(folder.messages, 'a', 0o600)
  const err = openSync(folder.errors, 'a', 0o600)
  messages.hold()
  errors.hold()
  let child: ChildProcess
  try {
    child = spawn(step.binary, step.args, {
      cwd: step.cwd,
      env: { ...step.env, [FOLDER_VARIABLE]: folder.path },
      detached: true,
      stdio: ['ignore', out, err],
    })
  } finally {
    closeSync(out)
    closeSync(err)
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, name) => resolve({ code, signal: name }))
  })
  const who = child.pid === undefined ? undefined : identityOf(child.pid)
  if (who) noteProcess(folder, { process: who, step: step.name })

  const poll = (end = false) => {
    messages.read(onLine, end)
    errors.read(onError, end)
  }
  const polling = setInterval(poll, POLL_MS)
  const onStop = () => void stopGroup(clock, child.pid!, graceMs, ended)
  if (stop.aborted) onStop()
  stop.addEventListener('abort', onStop, { once: true })
  try {
    return await ended
  } finally {
    clearInterval(polling)
    stop.removeEventListener('abort', onStop)
    poll(true)
    messages.release()
    errors.release()
    removeFact(folder, 'process')
  }
}

/** Terraform is at work by now: a note that cannot be written must not end its runner. Its environment marks it too. */
function noteProcess(folder: Folder, process: TerraformProcess): void {
  try {
    writeFact(folder, 'process', process)
  } catch (error) {
    onWriteError(error)
  }
}

/** SIGTERM to Terraform alone; again when the grace is over; SIGKILL to all of them when that did not help either. */
async function stopGroup(clock: Clock, pid: number, graceMs: number, ended: Promise<unknown>): Promise<void> {
  let over = false
  const end = Promise.allSettled([ended]).then(() => {
    over = true
  })
  signal(pid, 'SIGTERM')
  await Promise.race([end, pause(clock, graceMs)])
  if (over) return
  signal(pid, 'SIGTERM')
  await Promise.race([end, pause(clock, KILL_AFTER_SECOND_MS)])
  if (!over) signal(-pid, 'SIGKILL')
}

/** These files are created before Terraform starts and removed after it ends: without them, it cannot run here. */
export function mayHaveTerraform(folder: Folder): boolean {
  return existsSync(folder.messages) || readFact(folder, 'process') !== undefined
}

interface Orphan {
  readonly pid: number
  /** Terraform itself is there; otherwise only what it had started. */
  readonly leads: boolean
}

/** Terraform of an earlier runner that is still at work in this folder. */
function findOrphan(folder: Folder): Orphan | undefined {
  const known = readFact(folder, 'process')?.process
  if (known && isGroupAlive(known)) return { pid: known.pid, leads: livenessOf(known) === 'alive' }
  // A runner that was killed between starting Terraform and writing its pid down has left no other trace.
  const marked = findLeaders(`${FOLDER_VARIABLE}=${folder.path}`, /^(terraform|tofu)/)[0]
  return marked && { pid: marked.pid, leads: true }
}

/**
 * Waits until nothing works in this folder any more. Terraform itself may finish; what it left running after its own
 * death gets a short while and is ended then.
 */
export async function waitForOrphan(
  folder: Folder,
  options: Pick<StepOptions, 'clock' | 'stop' | 'graceMs'>,
): Promise<boolean> {
  const { clock, stop, graceMs } = options
  let aloneSince: number | undefined
  let askedAt: number | undefined
  for (let waited = false; ; waited = true) {
    const orphan = findOrphan(folder)
    if (!orphan) return waited
    const now = clock.monotonic()
    if (!orphan.leads) aloneSince ??= now
    if (aloneSince !== undefined && now - aloneSince > ORPHAN_CHILD_MS) signal(-orphan.pid, 'SIGKILL')
    if (stop.aborted && orphan.leads) {
      if (askedAt === undefined) signal(orphan.pid, 'SIGTERM')
      askedAt ??= now
      if (now - askedAt > graceMs + KILL_AFTER_SECOND_MS) signal(-orphan.pid, 'SIGKILL')
    }
    await pause(clock, POLL_MS)
  }
}
