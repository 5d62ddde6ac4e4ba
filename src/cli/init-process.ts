// The first process of a container: the kernel gives it every orphan, and ends all others with it. Node does not collect
// orphans that have ended, so a shell takes its place, forwards signals to the program and collects them.
import { accessSync, constants } from 'node:fs'
import type { DrainOptions } from '#engine'
import { parseDuration } from '#lib'
import type { Io } from './command.ts'

const SHELL = '/bin/sh'
const CONTAINER_GRACE_MS = 150_000
/** `wait` returns early when a signal was forwarded; the program has ended when it cannot be signalled any more. */
const SCRIPT = `
"$@" & program=$!
trap 'kill -TERM $program 2>/dev/null' TERM
trap 'kill -INT $program 2>/dev/null' INT
trap 'kill -USR2 $program 2>/dev/null' USR2
while :; do
  wait $program
  code=$?
  kill -0 $program 2>/dev/null || exit $code
done
`

/** Whether every process of this container ends with us. */
function isContainerProcess({ env }: Pick<Io, 'env'>): boolean {
  return process.pid === 1 || env['CAPT_SUPERVISED'] !== undefined || env['KUBERNETES_SERVICE_HOST'] !== undefined
}

/** Does not return where a shell takes the place of this process and starts the program again. */
export function superviseFirstProcess({ env }: Pick<Io, 'env'>): void {
  if (process.pid !== 1 || env['CAPT_SUPERVISED'] !== undefined || process.execve === undefined) return
  try {
    accessSync(SHELL, constants.X_OK)
  } catch {
    // An image without a shell: orphans stay uncollected, everything else works.
    return
  }
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(SHELL, ['sh', '-c', SCRIPT, 'capt', ...program], { ...process.env, CAPT_SUPERVISED: '1' })
}

/**
 * How this process ends: undefined where runners outlive it.
 * A runner that is asked to stop has 120 seconds, and time to save: with 150 before that a pod
 * needs less than 300.
 */
export function shutdownOf(text: string | undefined, io: Pick<Io, 'env' | 'urgent'>): DrainOptions | undefined {
  if (text === undefined && !isContainerProcess(io)) return undefined
  return { askAfterMs: text === undefined ? CONTAINER_GRACE_MS : parseDuration(text), hurry: io.urgent }
}
