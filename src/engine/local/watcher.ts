// Watches runners of this machine: our own children by their end, adopted ones by looking. Reports on disk become news,
// at most one every two seconds as long as only the progress changes.
import type { ChildProcess } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Log } from '#lib'
import { identityOf, livenessOf, type ProcessIdentity } from '../processes.ts'
import { isOpen, type RunRecord } from '../record/record.ts'
import { folderOf, readFact } from '../runner/folder.ts'
import { Tail } from '../runner/tail.ts'
import type { ObjectKey } from '../workspace.ts'

export interface WatcherOptions {
  readonly clock: Clock
  readonly log: Log
  onProgress(key: ObjectKey, record: RunRecord): void
  onEnd(key: ObjectKey, runId: string): void
}

export interface Watcher {
  watchChild(key: ObjectKey, runId: string, folder: string, child: ChildProcess, echo: boolean): void
  watchProcess(key: ObjectKey, runId: string, folder: string, process: ProcessIdentity): void
  isWatching(id: string): boolean
  identityOf(id: string): ProcessIdentity | undefined
  /** The runners that have not ended yet. */
  all(): readonly { readonly folder: string; readonly process: ProcessIdentity | undefined }[]
  stop(): void
}

const LOOK_MS = 500
const TELL_MS = 2_000

interface Watched {
  readonly key: ObjectKey
  readonly runId: string
  readonly folder: string
  /** Set for runners that are not our children: they are looked for. */
  readonly adopted: boolean
  readonly process: ProcessIdentity | undefined
  readonly echo: Tail | undefined
  seen: number
  phase: string
  toldAt: number
}

export function createWatcher({ clock, log, onProgress, onEnd }: WatcherOptions): Watcher {
  const watched = new Map<string, Watched>()
  let looking: NodeJS.Timeout | undefined

  const add = (one: Omit<Watched, 'seen' | 'phase' | 'toldAt'>) => {
    const before = watched.get(idOf(one.key))
    if (before) end(before)
    watched.set(idOf(one.key), { ...one, seen: 0, phase: '', toldAt: Number.NEGATIVE_INFINITY })
    looking ??= setInterval(lookAll, LOOK_MS)
    looking.unref()
  }
  const end = (one: Watched) => {
    if (watched.get(idOf(one.key)) !== one) return
    watched.delete(idOf(one.key))
    echo(one, true)
    if (watched.size === 0) {
      clearInterval(looking)
      looking = undefined
    }
    onEnd(one.key, one.runId)
  }
  const echo = (one: Watched, last = false) => {
    one.echo?.read(
      (line) => log.info('Terraform', { WorkspaceTemplateApply: idOf(one.key), line: line.slice(9) }),
      last,
    )
  }
  const look = (one: Watched) => {
    echo(one)
    const changed = statSync(join(one.folder, 'report.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (changed !== one.seen) tell(one, changed)
    if (one.adopted && one.process && livenessOf(one.process) !== 'alive') end(one)
  }
  const tell = (one: Watched, changed: number) => {
    const record = readFact({ path: one.folder }, 'report')?.record
    // A run is over when its runner is: until then it still holds the lock and tidies its folder.
    if (record?.run?.id !== one.runId || !isOpen(record.run)) return
    const now = clock.monotonic()
    // One that saves is over in a moment, and that is news then; only when it takes its time is it worth a word.
    if (record.run.phase === 'Save' && one.phase !== 'Save') {
      one.phase = 'Save'
      one.toldAt = now
    }
    const isNews = record.run.phase !== one.phase
    if (!isNews && now - one.toldAt < TELL_MS) return
    one.seen = changed
    one.phase = record.run.phase
    one.toldAt = now
    onProgress(one.key, record)
  }
  const lookAll = () => {
    for (const one of [...watched.values()]) look(one)
  }

  return {
    watchChild(key, runId, folder, child, wantsEcho) {
      const process = child.pid === undefined ? undefined : identityOf(child.pid)
      const echoed = wantsEcho ? new Tail(folderOf(folder).logOf(runId)) : undefined
      add({ key, runId, folder, adopted: false, process, echo: echoed })
      const one = watched.get(idOf(key))!
      child.once('exit', () => end(one))
      child.once('error', () => end(one))
      // It may be over by now: then nobody will say so again.
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) setImmediate(end, one)
    },
    watchProcess(key, runId, folder, process) {
      add({ key, runId, folder, adopted: true, process, echo: undefined })
    },
    isWatching: (id) => watched.has(id),
    identityOf: (id) => watched.get(id)?.process,
    all: () => [...watched.values()],
    stop() {
      clearInterval(looking)
      looking = undefined
      watched.clear()
    },
  }
}

const idOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`
