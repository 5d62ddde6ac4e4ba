// The state of one workspace during a run: which of its sources holds, where Terraform finds it, and that every change of
// it is saved under the lock. Nothing else in the runner touches state.
import { dirname } from 'node:path'
import type { Objects } from '#kube'
import { CaptError, type Clock, isCaptError, type Log, messageOf, toTimestamp } from '#lib'
import type { Owner } from '../owner.ts'
import { isPassing } from '../patient.ts'
import { keptFacts } from '../record/rebuild.ts'
import type { RunRecord, SavedState, Verb } from '../record/record.ts'
import { changeRecord, type RecordChange } from '../record/record-store.ts'
import { saveFenced, takeOverState } from '../state/fenced-state.ts'
import { reconstructWorkspace } from '../state/reconstruct.ts'
import { findCopy, hasUnsettled, readCopies, recordSource, stateSource } from '../state/sources.ts'
import {
  type BackupRef,
  type CopyRef,
  copyRef,
  deleteCopy,
  loadCopy,
  saveBackup,
  saveCopy,
} from '../state/state-copies.ts'
import { readState, type StateInfo } from '../state/state-file.ts'
import { observeState, type PartRef, type StateCopy, verifyState } from '../state/state-store.ts'
import { type Folder, readText } from './folder.ts'
import { findState, placeState, stateInFolder } from './state-files.ts'
import { StateKeeper } from './state-keeper.ts'

const KEPT_BACKUPS = 5

export interface StateWorld {
  readonly objects: Objects
  readonly owner: Owner
  readonly folder: Folder
  readonly clock: Clock
  readonly log: Log
  readonly runId: string
  readonly verb: Verb
  /** The record as this run knows it. */
  record(): RunRecord
  /** Changes the record for good; throws when it is not ours any more. */
  announce(change: RecordChange): Promise<void>
  /** Another run has the lock or wrote the state: nothing more may be made. */
  onFenced(): void
  say(text: string): void
}

/** How a run begins with its state. */
export interface Opening {
  /** The saved state, when somebody has read it under our lock. */
  readonly seen?: StateCopy | undefined
  /** An earlier runner of this workspace was lost and may still be alive somewhere. */
  readonly isTakeOver: boolean
}

export class WorkspaceState {
  readonly #world: StateWorld
  readonly #opened: StateCopy
  readonly #isTakeOver: boolean
  #keeper: StateKeeper
  #parts: readonly PartRef[]
  /** Copies of ours that were taken away again. */
  readonly #gone = new Set<string>()
  #isSettled = false
  #fenced: unknown

  private constructor(world: StateWorld, opened: StateCopy, isTakeOver: boolean) {
    this.#world = world
    this.#opened = opened
    this.#isTakeOver = isTakeOver
    this.#parts = opened.parts
    this.#keeper = this.#keep(dirname(findState(world.folder) ?? `${world.folder.work}/`), opened.text, (info) =>
      this.#isSuccessor(info),
    )
  }

  /** From here on every change is saved, also those of a Terraform that an earlier runner started. */
  static async open(world: StateWorld, { seen, isTakeOver }: Opening): Promise<WorkspaceState> {
    const { objects, owner, runId } = world
    const opened = isTakeOver
      ? await takeOverState(objects, owner, runId)
      : (seen ?? (await observeState(objects, owner)))
    return new WorkspaceState(world, opened, isTakeOver)
  }

  /** Nobody has decided yet that the file in the folder holds: it is saved only when it goes on from what is known. */
  #isSuccessor({ lineage, serial }: StateInfo): boolean {
    const known = this.#keeper.saved ?? this.#world.record().state
    if (known) return lineage === known.lineage && serial > known.serial
    return !this.#opened.isDamaged
  }

  /** Decides from all sources which state holds, and puts it where Terraform will run. */
  async settle(root: string, hasTemplate: boolean): Promise<void> {
    this.#keeper.stop()
    await this.#keeper.flush()
    const { folder, objects, owner, verb, say } = this.#world
    const record = this.#world.record()
    const here = newer(stateInFolder(folder), readText(folder.stateCopy))
    const saved = this.#keeper.savedText
    const sources = {
      name: owner.name,
      verb,
      record: recordSource(record, this.#isTakeOver),
      state: stateSource(saved, this.#opened.isDamaged),
      folder: stateSource(here),
      hasUnsettled: hasUnsettled(record),
      bundle: 'unread',
      plan: 'none',
      hasTemplate,
      tags: 'unavailable',
    } as const
    const first = reconstructWorkspace(sources)
    const found =
      first.is === 'ask'
        ? reconstructWorkspace({ ...sources, copies: await readCopies(objects, owner, record, saved) })
        : first
    if (found.is === 'stalled') throw new CaptError(found.code, found.message, { hint: found.hint })
    if (found.is === 'ask') throw new Error(`the state cannot be decided without ${found.for}`)
    for (const note of found.notes) say(note)
    if (found.is === 'restore') this.#place(root, await this.#readCopy(record, found.copy))
    else if (found.is === 'empty') this.#place(root, undefined)
    else this.#place(root, found.from === 'folder' ? here : saved)
    // A state that only the folder or a copy had is saved before anything is decided by it.
    await this.#keeper.flush()
    this.#isSettled = true
  }

  async #readCopy(record: RunRecord, id: string): Promise<string | undefined> {
    const ref = findCopy(record, id)
    return ref && (await loadCopy(this.#world.objects, this.#world.owner, ref))
  }

  /** Follows Terraform to another folder: a module that was fetched or unpacked has its own. */
  async moveTo(root: string): Promise<void> {
    this.#keeper.stop()
    // One hand at a time: a save that is still on its way must not come after a newer one.
    await this.#keeper.flush()
    this.#place(root, stateInFolder(this.#world.folder))
  }

  #place(root: string, text: string | undefined): void {
    placeState(this.#world.folder, root, text)
    this.#keeper = this.#keep(root, this.#keeper.savedText)
    this.#keeper.look()
  }

  #keep(root: string, saved: string | undefined, isAllowed?: (info: StateInfo) => boolean): StateKeeper {
    const { folder, clock, log } = this.#world
    const save = (text: string) => this.#save(text)
    const guard = isAllowed ? { isAllowed } : {}
    const keeper = new StateKeeper({ root, copy: folder.stateCopy, clock, log, save, ...guard }, saved)
    keeper.start()
    return keeper
  }

  async #save(text: string): Promise<void> {
    if (this.#fenced) throw this.#fenced
    const { objects, owner, runId } = this.#world
    try {
      const copy = await this.#announceCopy(text)
      const fence = { runId, kept: keptFacts(this.#world.record()) }
      this.#parts = await saveFenced(objects, owner, text, this.#parts, fence)
      if (copy) await this.#drop(copy)
    } catch (error) {
      if (isCaptError(error, 'CAPT_STATE_FENCED') || isCaptError(error, 'CAPT_RECORD_TAKEN')) {
        this.#fenced = error
        this.#world.onFenced()
      }
      throw error
    }
  }

  /** A state of several parts is not written at once: a whole copy of it lies beside it meanwhile, and the record knows. */
  async #announceCopy(text: string): Promise<CopyRef | undefined> {
    const { objects, owner, clock, runId, announce } = this.#world
    const facts = copyRef(text, toTimestamp(clock.now()))
    if (facts.parts === 1) return undefined
    const copy: CopyRef = { ...facts, run: runId }
    this.#gone.delete(keyOf(copy))
    await announce((record) => ({
      ...record,
      pending: [copy, ...this.#left(record.pending).filter((one) => keyOf(one) !== keyOf(copy))],
    }))
    await saveCopy(objects, owner, text, copy)
    return copy
  }

  #left(copies: readonly CopyRef[] = []): readonly CopyRef[] {
    return copies.filter((copy) => !this.#gone.has(keyOf(copy)))
  }

  /** Copies the state as it is before a change; the oldest copies fall out of the list. */
  async backUp(backups: readonly BackupRef[]): Promise<readonly BackupRef[]> {
    const text = this.#keeper.savedText
    const serial = this.info?.serial
    if (text === undefined || backups.some((one) => one.serial === serial)) return backups
    const { objects, owner, clock, log } = this.#world
    try {
      return [await saveBackup(objects, owner, text, toTimestamp(clock.now())), ...backups].slice(0, KEPT_BACKUPS)
    } catch (error) {
      if (isPassing(error)) throw error
      // A namespace that is going takes no new Secrets; the state itself is held by our finalizer.
      log.warn('Copying the state before the change failed', { error: messageOf(error) })
      return backups
    }
  }

  /** Saved, and read back to be sure. What another run keeps us from saving goes into a copy beside the state. */
  async flush(verify: boolean): Promise<void> {
    try {
      await this.#keeper.flush()
    } catch (error) {
      if (this.#fenced) await this.#saveAside()
      throw error
    }
    const text = this.#keeper.savedText
    if (verify && text !== undefined) await verifyState(this.#world.objects, this.#world.owner, text)
  }

  /** Announced in the record of whoever has it by now, then written. */
  async #saveAside(): Promise<void> {
    const text = this.#keeper.newestText
    if (text === undefined) return
    const { objects, owner, clock, runId, say } = this.#world
    const copy: CopyRef = { ...copyRef(text, toTimestamp(clock.now())), run: runId }
    await changeRecord(objects, owner, (record) => ({
      ...record,
      side: [copy, ...(record.side ?? []).filter((one) => keyOf(one) !== keyOf(copy))],
    }))
    await saveCopy(objects, owner, text, copy)
    say(`The lock was lost; serial ${copy.serial} with ${copy.resources} resources is in a copy beside the state`)
  }

  /** Takes away the copies that are of no use any more, and returns how the record looks without them. */
  async tidyCopies(): Promise<RecordChange> {
    const { objects, owner } = this.#world
    const { pending = [], side = [] } = this.#world.record()
    if (this.#isSettled && !this.#fenced) {
      const current = this.#keeper.savedText
      const sides = side.length > 0 ? await readCopies(objects, owner, { backups: [], side }, current) : []
      const settled = side.filter((_, i) => sides[i]?.source.is === 'whole' && sides[i].unknown === 0)
      for (const copy of [...this.#left(pending), ...settled]) await this.#drop(copy)
    }
    return ({ pending: announced, side: aside, ...record }) => ({
      ...record,
      ...listed('pending', this.#left(announced)),
      ...listed('side', this.#left(aside)),
    })
  }

  /** What cannot be taken away stays in the record. */
  async #drop(copy: CopyRef): Promise<void> {
    const { objects, owner, log } = this.#world
    try {
      await deleteCopy(objects, owner, copy)
      this.#gone.add(keyOf(copy))
    } catch (error) {
      log.warn('Deleting a copy of the state failed', { error: messageOf(error) })
    }
  }

  stop(): void {
    this.#keeper.stop()
  }

  get saved(): SavedState | undefined {
    return this.#keeper.saved
  }

  /** Addresses in the state that is saved. */
  get savedAddresses(): ReadonlySet<string> {
    return this.#keeper.savedAddresses
  }

  /** The newest whole state, saved or on its way. */
  get info(): StateInfo | undefined {
    const text = this.#keeper.newestText
    return text === undefined ? undefined : readState(text)
  }
}

const keyOf = ({ serial, run }: CopyRef): string => `${serial}/${run}`

function listed(name: 'pending' | 'side', copies: readonly CopyRef[]): Partial<Pick<RunRecord, 'pending' | 'side'>> {
  return copies.length > 0 ? { [name]: copies } : {}
}

function newer(a: string | undefined, b: string | undefined): string | undefined {
  const first = a === undefined ? undefined : readState(a)
  const second = b === undefined ? undefined : readState(b)
  if (!second) return first ? a : undefined
  if (!first) return b
  return first.lineage === second.lineage && second.serial > first.serial ? b : a
}
