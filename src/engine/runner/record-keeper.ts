// The runner's hand on the run record: claims it, changes it, and tells the manager on the same machine by a file.
import { existsSync } from 'node:fs'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import { livenessOf, type ProcessIdentity } from '../processes.ts'
import { isOpen, type RunRecord } from '../record/record.ts'
import { type RecordChange, readRecord, type Versioned, writeRecord } from '../record/record-store.ts'
import { onWriteError } from './disk.ts'
import { type Folder, type RunRequest, writeFact } from './folder.ts'

const REPORT_MS = 250

export class RecordKeeper {
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
  ): Promise<RecordKeeper | undefined> {
    // What the manager just wrote is most likely still what is there.
    for (let known = request.seen; ; known = undefined) {
      const seen = known ?? (await readRecord(objects, request.owner))
      const run = seen?.record.run
      if (!seen || !isOpen(run) || run.id !== request.runId) return undefined
      const isMine = run.runner?.pid === me.pid && run.runner.start === me.start
      if (run.runner && !isMine && livenessOf(run.runner) !== 'dead') return undefined
      const claimed: RunRecord = { ...seen.record, run: { ...run, phase: 'Init', runner: me } }
      const written = isMine ? seen : await writeRecord(objects, request.owner, seen, claimed)
      if (written) return new RecordKeeper(objects, request, folder, written)
    }
  }

  get record(): RunRecord {
    return this.#seen.record
  }

  /** Changes the record for good; when somebody else wrote meanwhile, the change is made to what they wrote. */
  update(change: RecordChange, log?: string): Promise<void> {
    const written = this.#last.then(() => this.#update(change, log))
    this.#last = written.catch(() => undefined)
    return written
  }

  async #update(change: RecordChange, log?: string): Promise<void> {
    const { runId, owner } = this.#request
    for (;;) {
      const filed = log === undefined ? undefined : { runId, text: log }
      const wanted = change(this.#seen.record)
      this.report(wanted, false)
      const written = await writeRecord(this.#objects, owner, this.#seen, wanted, filed)
      if (written) {
        this.#seen = written
        this.report(written.record, true)
        return
      }
      const now = await readRecord(this.#objects, owner)
      if (now?.record.run?.id !== runId) {
        throw new CaptError('CAPT_RECORD_TAKEN', `the record of run ${runId} was taken over or removed`, {
          hint: 'another manager decided about it; its state is in the work folder and saved',
        })
      }
      this.#seen = now
    }
  }

  /** Tells the manager without asking the API server; with a time, at most four times a second. */
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
      // The record itself tells, a little later.
      onWriteError(error)
    }
  }
}
