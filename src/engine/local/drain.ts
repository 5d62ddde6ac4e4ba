// Waits until every runner of this machine has ended; after a while Terraform is asked to stop and to save its state.
import { type Clock, type Log, pause } from '#lib'
import { livenessOf, signal } from '../lock/processes.ts'
import type { DrainOptions } from '../port.ts'
import { readFact } from '../runner/inputs/folder.ts'
import type { Watcher } from './watcher.ts'

const POLL_MS = 100

export async function drainRunners(
  watcher: Watcher,
  { askAfterMs, hurry, killAfterMs = Number.POSITIVE_INFINITY }: DrainOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const running = () => watcher.all().length
  if (running() > 0) log.info('Waiting for Terraform runs to end', { runs: running() })
  const began = clock.monotonic()
  let askedAt: number | undefined
  while (running() > 0) {
    const now = clock.monotonic()
    if (askedAt === undefined && (hurry?.aborted || now - began >= askAfterMs)) {
      askedAt = now
      log.info('Asking Terraform to stop and to save its state', { runs: running() })
      for (const { process } of watcher.all()) if (process) signal(process.pid, 'SIGTERM')
    }
    if (askedAt !== undefined && now - askedAt >= killAfterMs) killAll(watcher)
    await pause(clock, POLL_MS)
  }
}

function killAll(watcher: Watcher): void {
  for (const { folder, process } of watcher.all()) {
    const terraform = readFact({ path: folder }, 'process')?.process
    if (process) signal(-process.pid, 'SIGKILL')
    if (terraform && livenessOf(terraform) === 'alive') signal(-terraform.pid, 'SIGKILL')
  }
}
