// Writes the run record for the runner: claims it, changes it, and reports to the manager on the same machine by a file.
import { existsSync } from 'node:fs'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import { isHolder } from '../../lock/lock.ts'
import { livenessOf, type ProcessIdentity } from '../../lock/processes.ts'
import { isOpen, type RunRecord } from '../../record/record.ts'
import { type RecordChange, readOrReplace, readRecord, type Versioned, writeRecord } from '../../record/record-store.ts'
import { type Folder, type RunRequest, writeFact } from '../inputs/folder.ts'
import { onWriteError } from '../process/disk.ts'

const REPORT_MS = 250

/** Every container counts its processes from 1. */
const isSameProcess = (a: ProcessIdentity | undefined, b: ProcessIdentity): boolean =>
  a?.pid === b.pid && a.start === b.start && a.pod?.uid === b.pod?.uid

export class RecordWriter {
  readonly #objects: Objects
  readonly #request: RunRequest
  readonly #folder: Folder
  #seen: Versioned
  #reportedAt = 0
  /** One write after the other: each is made from what the one before has left. */
  #last: Promise<unknown> = Promise.resolve()

  private constructor(objects: Objects, request: RunRequest, folder: Folder, seen: Versioned) {
    this.#objects = objects
    this.#request = request
    this.#folder = folder
    this.#seen = seen
  }

  /** Undefined when this run is not ours to do: another runner has it, or it is over. */
  static async claim(
    objects: Objects,
    request: RunRequest,
    folder: Folder,
    me: ProcessIdentity,
  ): Promise<RecordWriter | undefined> {
    // What the manager just wrote is most likely still what is there.
    for (let known = request.seen; ; known = undefined) {
      const seen = known ?? (await readRecord(objects, request.owner))
      const run = seen?.record.run
      if (!seen || !isOpen(run) || run.id !== request.runId) return undefined
      // Kubernetes may start the pod of a Job twice, and an earlier Job of the run may still have one.
      if (run.job?.name !== request.job?.name) return undefined
      const isMine = isSameProcess(run.runner, me)
      if (run.runner && !isMine && livenessOf(run.runner) !== 'dead') return undefined
      const claimed: RunRecord = { ...seen.record, run: { ...run, phase: 'Init', runner: me } }
      const written = isMine ? seen : await writeRecord(objects, request.owner, seen, claimed)
      if (written) return new RecordWriter(objects, request, folder, written)
    }
  }

  get record(): RunRecord {
    return this.#seen.record
  }

  /** Changes the record for good; after a conflicting write, the change is made to what was written. */
  update(change: RecordChange, log?: string, plan?: Buffer): Promise<void> {
    const written = this.#last.then(() => this.#update(change, log, plan))
    this.#last = written.catch(() => undefined)
    return written
  }

  async #update(change: RecordChange, log?: string, plan?: Buffer): Promise<void> {
    const { runId, owner } = this.#request
    for (;;) {
      const filed = log === undefined ? undefined : { runId, text: log }
      const wanted = change(this.#seen.record)
      this.report(wanted, false)
      const written = await writeRecord(this.#objects, owner, this.#seen, wanted, filed, plan)
      if (written) {
        this.#seen = written
        this.report(written.record, true)
        return
      }
      const now = await this.#readAgain()
      if (now?.record.run?.id !== runId) {
        throw new CaptError('CAPT_RECORD_TAKEN', `the record of run ${runId} was taken over or removed`, {
          hint: 'another manager decided about it; its state is in the work folder and saved',
        })
      }
      this.#seen = now
    }
  }

  /** A record that is gone or damaged under our lock is written again: nobody else knows its content. */
  async #readAgain(): Promise<Versioned | undefined> {
    const { runId, owner } = this.#request
    const found = await readOrReplace(this.#objects, owner)
    if (found?.record.run) return found
    const isOurs = await isHolder(this.#objects, owner, runId)
    return isOurs ? { record: this.#seen.record, version: found?.version } : undefined
  }

  /** Reports to the manager without a request to the API server; with a time, at most four times a second. */
  progress(change: RecordChange, nowMs?: number): void {
    if (nowMs !== undefined && nowMs - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = nowMs ?? this.#reportedAt
    this.report(change(this.#seen.record), true)
  }

  report(record: RunRecord, saved: boolean): void {
    // A folder that was removed is not made again for a report.
    if (!existsSync(this.#folder.path)) return
    try {
      writeFact(this.#folder, 'report', { record, saved })
    } catch (error) {
      // The record itself follows a little later.
      onWriteError(error)
    }
  }
}
