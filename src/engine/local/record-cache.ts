// The run records as this manager last read or wrote them. The API server is authoritative: a caller that decides by a
// record that others may change reads it again.
import { keyText } from '#api'
import type { Objects } from '#kube'
import { isCaptError } from '#lib'
import type { Owner } from '../owner.ts'
import type { StartRequest } from '../port.ts'
import { packed } from '../record/packed.ts'
import type { Run, RunRecord } from '../record/record.ts'
import { readOrReplace, readRecord, type Versioned, writeRecord } from '../record/record-store.ts'
import type { ObjectKey } from '../workspace.ts'

export class RecordCache {
  readonly #objects: Objects
  readonly #onConflict: (key: ObjectKey) => void
  readonly #records = packed<RunRecord>()

  /** `onConflict` is called when another process has written a record meanwhile. */
  constructor(objects: Objects, onConflict: (key: ObjectKey) => void) {
    this.#objects = objects
    this.#onConflict = onConflict
  }

  get(key: ObjectKey): RunRecord | undefined {
    return this.#records.get(keyText(key))
  }

  set(key: ObjectKey, record: RunRecord): void {
    this.#records.set(keyText(key), record)
  }

  delete(key: ObjectKey): void {
    this.#records.delete(keyText(key))
  }

  async refresh(key: ObjectKey): Promise<Versioned | undefined> {
    return this.#read(key, readRecord)
  }

  /** Undefined also for a record that cannot be read. */
  async refreshIfWhole(key: ObjectKey): Promise<Versioned | undefined> {
    try {
      return await this.refresh(key)
    } catch (error) {
      if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE')) throw error
      return undefined
    }
  }

  async refreshOrReplace(key: ObjectKey, request: StartRequest): Promise<Versioned | undefined> {
    return this.#read(key, (objects, one) => readOrReplace(objects, one, request))
  }

  async #read(key: ObjectKey, read: typeof readRecord): Promise<Versioned | undefined> {
    // Deleted first: a record that cannot be read must not stay cached as it was before it was damaged.
    this.delete(key)
    const found = await read(this.#objects, { namespace: key.namespace, name: key.name })
    if (found) this.set(key, found.record)
    return found
  }

  /** Undefined after a conflicting write; then the other record is cached. */
  async write(owner: Owner, before: Versioned | undefined, record: RunRecord): Promise<Versioned | undefined> {
    const written = await writeRecord(this.#objects, owner, before, record)
    if (written) {
      this.set(owner, written.record)
      return written
    }
    const now = await this.refresh(owner)
    // The response may have been lost: a record with our run in it was written by us.
    if (isSameWrite(now?.record.run, record.run)) return now
    this.#onConflict(owner)
    return undefined
  }
}

/** Whether the record of a run is the one that we tried to write. */
function isSameWrite(now: Run | undefined, tried: Run | undefined): boolean {
  const isSameRunner = now?.runner?.pid === tried?.runner?.pid && now?.runner?.start === tried?.runner?.start
  return now?.id === tried?.id && now?.resumed === tried?.resumed && isSameRunner
}
