// Watches runners of this machine: our own children by their exit, adopted ones by polling. Reports on disk are passed on, at
// most one every two seconds as long as only the progress changes.

import type { ChildProcess } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { keyText } from '#api'
import type { Clock, Log } from '#lib'
import { identityOf, livenessOf, type ProcessIdentity } from '../lock/processes.ts'
import { isOpen, type RunRecord } from '../record/record.ts'
import { folderOf, readFact } from '../runner/inputs/folder.ts'
import { Tail } from '../runner/process/tail.ts'
import type { ObjectKey } from '../workspace.ts'

export interface WatcherOptions {
  readonly clock: Clock
  readonly log: Log
  onProgress(key: ObjectKey, record: RunRecord): void
  onEnd(key: ObjectKey, runId: string): void
}

export interface Watcher {
  watchChild(key: ObjectKey, runId: string, folder: string, child: ChildProcess, withLog: boolean): void
  watchProcess(key: ObjectKey, runId: string, folder: string, process: ProcessIdentity): void
  isWatching(id: string): boolean
  identityOf(id: string): ProcessIdentity | undefined
  /** The runners that have not ended yet. */
  all(): readonly { readonly folder: string; readonly process: ProcessIdentity | undefined }[]
  stop(): void
}

const POLL_MS = 500
const REPORT_MS = 2_000

interface Watched {
  readonly key: ObjectKey
  readonly runId: string
  readonly folder: string
  /** Set for runners that are not our children: they are looked for. */
  readonly adopted: boolean
  readonly process: ProcessIdentity | undefined
  readonly log: Tail | undefined
  seen: number
  phase: string
  reportedAt: number
}

export function createWatcher({ clock, log, onProgress, onEnd }: WatcherOptions): Watcher {
  const watched = new Map<string, Watched>()
  let polling: NodeJS.Timeout | undefined

  const add = (one: Omit<Watched, 'seen' | 'phase' | 'reportedAt'>) => {
    const before = watched.get(keyText(one.key))
    if (before) end(before)
    watched.set(keyText(one.key), { ...one, seen: 0, phase: '', reportedAt: Number.NEGATIVE_INFINITY })
    polling ??= setInterval(pollAll, POLL_MS)
    polling.unref()
  }
  const end = (one: Watched) => {
    if (watched.get(keyText(one.key)) !== one) return
    watched.delete(keyText(one.key))
    printLog(one, true)
    if (watched.size === 0) {
      clearInterval(polling)
      polling = undefined
    }
    onEnd(one.key, one.runId)
  }
  const printLog = (one: Watched, last = false) => {
    one.log?.read(
      (line) => log.info('Terraform', { WorkspaceTemplateApply: keyText(one.key), line: line.slice(9) }),
      last,
    )
  }
  const poll = (one: Watched) => {
    printLog(one)
    const changed = statSync(join(one.folder, 'report.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (changed !== one.seen) report(one, changed)
    if (one.adopted && one.process && livenessOf(one.process) !== 'alive') end(one)
  }
  const report = (one: Watched, changed: number) => {
    const record = readFact({ path: one.folder }, 'report')?.record
    // A run is over when its runner is: until then it still holds the lock and tidies its folder.
    if (record?.run?.id !== one.runId || !isOpen(record.run)) return
    const now = clock.monotonic()
    // A run that saves usually ends at once, and its end is reported; the phase is reported only when it lasts.
    if (record.run.phase === 'Save' && one.phase !== 'Save') {
      one.phase = 'Save'
      one.reportedAt = now
    }
    const isNewPhase = record.run.phase !== one.phase
    if (!isNewPhase && now - one.reportedAt < REPORT_MS) return
    one.seen = changed
    one.phase = record.run.phase
    one.reportedAt = now
    onProgress(one.key, record)
  }
  const pollAll = () => {
    for (const one of [...watched.values()]) poll(one)
  }

  return {
    watchChild(key, runId, folder, child, withLog) {
      const process = child.pid === undefined ? undefined : identityOf(child.pid)
      const log = withLog ? new Tail(folderOf(folder).logOf(runId)) : undefined
      add({ key, runId, folder, adopted: false, process, log })
      const one = watched.get(keyText(key))!
      child.once('exit', () => end(one))
      child.once('error', () => end(one))
      // It may have ended by now: then no event follows.
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) setImmediate(end, one)
    },
    watchProcess(key, runId, folder, process) {
      add({ key, runId, folder, adopted: true, process, log: undefined })
    },
    isWatching: (id) => watched.has(id),
    identityOf: (id) => watched.get(id)?.process,
    all: () => [...watched.values()],
    stop() {
      clearInterval(polling)
      polling = undefined
      watched.clear()
    },
  }
}
