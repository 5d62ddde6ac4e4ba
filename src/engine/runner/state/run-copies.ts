// The copies of a state that one run makes beside it, and what the record says about them: backups before a change, whole
// copies while a state of several parts is written, and side copies of what a run could not save.
import type { Objects } from '#kube'
import { type Clock, isCaptError, type Log, messageOf, toTimestamp } from '#lib'
import type { Owner } from '../../owner.ts'
import type { RunRecord } from '../../record/record.ts'
import { changeRecord, type RecordChange, writeRecord } from '../../record/record-store.ts'
import { isTransient } from '../../retrying-objects.ts'
import { readCopies } from '../../state/sources.ts'
import {
  type BackupRef,
  type CopyRef,
  copyRef,
  deleteCopy,
  saveCopy,
  type TakeSlots,
} from '../../state/state-copies.ts'
import { readState } from '../../state/state-file.ts'

const KEPT_BACKUPS = 5

export interface CopiesWorld {
  readonly objects: Objects
  readonly owner: Owner
  readonly clock: Clock
  readonly log: Log
  readonly runId: string
  /** Where this run may store copies only in slots: chooses them. Left out, a copy is named by its serial. */
  readonly slots?: {
    readonly take: TakeSlots
    /** Of a copy that was deleted. */
    release(slots: readonly number[]): void
    /** For a run that lost its lock, by the record that the copy is announced in. */
    takeAside(record: RunRecord, parts: number): ReturnType<TakeSlots>
  }
  /** The record as this run knows it. */
  record(): RunRecord
  /** Changes the record for good; throws when it is not ours any more. */
  announce(change: RecordChange): Promise<void>
  note(text: string): void
}

/** A copy of the state as it is before a change. */
export interface Backup {
  /** What the record is to name before any of it is written. */
  readonly backups: readonly BackupRef[]
  /** False when it cannot be written: then the record must not name it any longer. */
  write(): Promise<boolean>
}

export class RunCopies {
  readonly #world: CopiesWorld
  /** Copies of this run that were deleted again. */
  readonly #deleted = new Set<string>()

  constructor(world: CopiesWorld) {
    this.#world = world
  }

  /** A state of several parts is not written at once: a whole copy exists meanwhile, and the record names it. */
  async announce(text: string): Promise<CopyRef | undefined> {
    const { objects, owner, clock, runId, announce, slots } = this.#world
    const facts = copyRef(text, toTimestamp(clock.now()))
    if (facts.parts === 1) return undefined
    const copy: CopyRef = { ...facts, run: runId, ...slots?.take(facts.parts) }
    this.#deleted.delete(keyOf(copy))
    await announce((record) => ({
      ...record,
      pending: [copy, ...this.#left(record.pending).filter((one) => keyOf(one) !== keyOf(copy))],
    }))
    await saveCopy(objects, owner, text, copy)
    return copy
  }

  #left(copies: readonly CopyRef[] = []): readonly CopyRef[] {
    return copies.filter((copy) => !this.#deleted.has(keyOf(copy)))
  }

  /** The state as it is before a change, for the record to name before it is copied; the oldest copies fall out. */
  planBackup(text: string, backups: readonly BackupRef[]): Backup {
    const facts = copyRef(text, toTimestamp(this.#world.clock.now()))
    const same = backups.find(({ serial }) => serial === facts.serial)
    const ref = { ...facts, ...(same?.slots ? { slots: same.slots } : this.#world.slots?.take(facts.parts)) }
    const others = backups.filter(({ serial }) => serial !== ref.serial)
    return { backups: [ref, ...others].slice(0, KEPT_BACKUPS), write: () => this.#writeBackup(text, ref) }
  }

  async #writeBackup(text: string, ref: BackupRef): Promise<boolean> {
    const { objects, owner, log } = this.#world
    try {
      await saveCopy(objects, owner, text, ref)
      return true
    } catch (error) {
      if (isTransient(error)) throw error
      // A namespace that is going takes no new Secrets; the state itself is held by our finalizer.
      log.warn('Copying the state before the change failed', { error: messageOf(error) })
      return false
    }
  }

  /** Announces the copy in the record, regardless of its current owner, then writes it. */
  async saveAside(text: string): Promise<void> {
    const { objects, owner, clock, runId, note, slots } = this.#world
    let copy: CopyRef = { ...copyRef(text, toTimestamp(clock.now())), run: runId }
    await this.#announceAside((record) => {
      const others = (record.side ?? []).filter((one) => keyOf(one) !== keyOf(copy))
      copy = { ...copy, ...slots?.takeAside({ ...record, side: others }, copy.parts) }
      return { ...record, side: [copy, ...others] }
    })
    await saveCopy(objects, owner, text, copy)
    note(`The lock was lost; serial ${copy.serial} with ${copy.resources} resources is in a copy beside the state`)
  }

  /** A copy that no record names is found by nobody: where there is no record, ours is written again. */
  async #announceAside(change: RecordChange): Promise<void> {
    const { objects, owner, announce, record } = this.#world
    try {
      await announce(change)
    } catch (error) {
      if (!isCaptError(error, 'CAPT_RECORD_TAKEN')) throw error
      if (!(await changeRecord(objects, owner, change))) await writeRecord(objects, owner, undefined, change(record()))
    }
  }

  /** Deletes the copies of which the saved state has everything. */
  async deleteObsolete(saved: string | undefined): Promise<void> {
    const { objects, owner, runId } = this.#world
    const { pending = [], side = [] } = this.#world.record()
    const serial = saved === undefined ? -1 : (readState(saved)?.serial ?? -1)
    // One of this run that is newer could not be saved.
    const written = pending.filter((copy) => copy.run !== runId || copy.serial <= serial)
    const sides = side.length > 0 ? await readCopies(objects, owner, { backups: [], side }, saved) : []
    const settled = side.filter((_, i) => sides[i]?.source.is === 'whole' && sides[i].unknown === 0)
    for (const copy of [...this.#left(written), ...settled]) await this.delete(copy)
  }

  /** Removes the copies that were deleted from the record. */
  withoutDeleted(): RecordChange {
    return ({ pending: announced, side: aside, ...record }) => ({
      ...record,
      ...listed('pending', this.#left(announced)),
      ...listed('side', this.#left(aside)),
    })
  }

  /** A copy that cannot be deleted stays in the record. */
  async delete(copy: CopyRef): Promise<void> {
    const { objects, owner, log, slots } = this.#world
    try {
      await deleteCopy(objects, owner, copy)
      this.#deleted.add(keyOf(copy))
      slots?.release(copy.slots ?? [])
    } catch (error) {
      log.warn('Deleting a copy of the state failed', { error: messageOf(error) })
    }
  }
}

const keyOf = ({ serial, run }: CopyRef): string => `${serial}/${run}`

function listed(name: 'pending' | 'side', copies: readonly CopyRef[]): Partial<Pick<RunRecord, 'pending' | 'side'>> {
  return copies.length > 0 ? { [name]: copies } : {}
}
