// The state of one workspace during a run: which of its sources holds, where Terraform finds it, and that every change of
// it is saved under the lock. Nothing else in the runner touches state.
import { dirname } from 'node:path'
import { CaptError, isCaptError } from '#lib'
import { STATE_PARTS } from '../../names.ts'
import { keptFacts } from '../../record/rebuild.ts'
import type { RunRecord, SavedState } from '../../record/record.ts'
import type { RecordChange } from '../../record/record-store.ts'
import { saveFenced, takeOverState } from '../../state/fenced-state.ts'
import { reconstructWorkspace } from '../../state/reconstruct.ts'
import { findCopy, hasUnsettled, readCopies, recordSource, stateSource } from '../../state/sources.ts'
import { type BackupRef, type CopyRef, loadCopy } from '../../state/state-copies.ts'
import { readState, type StateInfo } from '../../state/state-file.ts'
import { stateTooLarge } from '../../state/state-secrets.ts'
import { observeState, type PartRef, type StateCopy, verifyState } from '../../state/state-store.ts'
import { type Folder, readText } from '../inputs/folder.ts'
import { type Backup, type CopiesWorld, RunCopies } from './run-copies.ts'
import { findState, placeState, stateInFolder } from './state-files.ts'
import { StateUploader } from './state-uploader.ts'

interface StateWorld extends CopiesWorld {
  readonly folder: Folder
  /** Another run has the lock or wrote the state: nothing more may be made. */
  onFenced(): void
  /** Whatever else is made cannot be saved either. */
  onTooLarge(error: CaptError): void
}

/** How a run begins with its state. */
interface Opening {
  /** The saved state, where the manager has read it under our lock. */
  readonly seen?: StateCopy | undefined
  /** An earlier runner of this workspace was lost and may still be alive somewhere. */
  readonly isTakeOver: boolean
}

export class WorkspaceState {
  readonly #world: StateWorld
  readonly #opened: StateCopy
  readonly #isTakeOver: boolean
  #uploader: StateUploader
  readonly #copies: RunCopies
  #parts: readonly PartRef[]
  #isSettled = false
  #fenced: unknown
  /** The last state that was too large to be saved. */
  #refused: { readonly text: string; readonly copy: CopyRef; readonly error: CaptError } | undefined

  private constructor(world: StateWorld, opened: StateCopy, isTakeOver: boolean) {
    this.#world = world
    this.#copies = new RunCopies(world)
    this.#opened = opened
    this.#isTakeOver = isTakeOver
    this.#parts = opened.parts
    this.#uploader = this.#keep(dirname(findState(world.folder) ?? `${world.folder.work}/`), opened.text, (info) =>
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
    const known = this.#uploader.saved ?? this.#world.record().state
    if (known) return lineage === known.lineage && serial > known.serial
    return !this.#opened.isDamaged
  }

  /** Decides from all sources which state holds, and puts it where Terraform will run. */
  async settle(root: string): Promise<void> {
    this.#uploader.stop()
    await this.#uploader.flush()
    const { folder, objects, owner, note } = this.#world
    const record = this.#world.record()
    const here = newer(stateInFolder(folder), readText(folder.stateCopy))
    const saved = this.#uploader.savedText
    const sources = {
      name: owner.name,
      record: recordSource(record, this.#isTakeOver),
      state: stateSource(saved, this.#opened.isDamaged),
      folder: stateSource(here),
      hasUnsettled: hasUnsettled(record),
      tags: 'unavailable',
    } as const
    const first = reconstructWorkspace(sources)
    const found =
      first.is === 'ask'
        ? reconstructWorkspace({ ...sources, copies: await readCopies(objects, owner, record, saved) })
        : first
    if (found.is === 'stalled') throw new CaptError(found.code, found.message, { hint: found.hint })
    if (found.is === 'ask') throw new Error(`the state cannot be decided without ${found.for}`)
    for (const text of found.notes) note(text)
    if (found.is === 'restore') this.#place(root, await this.#readCopy(record, found.copy))
    else if (found.is === 'empty') this.#place(root, undefined)
    else this.#place(root, found.from === 'folder' ? here : saved)
    // A state that only the folder or a copy had is saved before anything is decided by it.
    await this.#uploader.flush()
    this.#isSettled = true
  }

  async #readCopy(record: RunRecord, id: string): Promise<string | undefined> {
    const ref = findCopy(record, id)
    return ref && (await loadCopy(this.#world.objects, this.#world.owner, ref))
  }

  /** Follows Terraform to another folder: a module that was fetched or unpacked has its own. */
  async moveTo(root: string): Promise<void> {
    this.#uploader.stop()
    // One uploader at a time: a save that is still on its way must not come after a newer one.
    await this.#uploader.flush()
    this.#place(root, stateInFolder(this.#world.folder))
  }

  #place(root: string, text: string | undefined): void {
    placeState(this.#world.folder, root, text)
    this.#uploader = this.#keep(root, this.#uploader.savedText)
    this.#uploader.check()
  }

  #keep(root: string, saved: string | undefined, isAllowed?: (info: StateInfo) => boolean): StateUploader {
    const { folder, clock, log } = this.#world
    const save = (text: string) => this.#save(text)
    const guard = isAllowed ? { isAllowed } : {}
    const uploader = new StateUploader({ root, copy: folder.stateCopy, clock, log, save, ...guard }, saved)
    uploader.start()
    return uploader
  }

  async #save(text: string): Promise<void> {
    if (this.#fenced) throw this.#fenced
    if (this.#refused?.text === text) throw this.#refused.error
    const { objects, owner, runId } = this.#world
    try {
      const copy = await this.#copies.announce(text)
      if (this.#world.slots && copy && copy.parts > STATE_PARTS) await this.#refuse(text, copy)
      const fence = { runId, kept: keptFacts(this.#world.record()) }
      this.#parts = await saveFenced(objects, owner, text, this.#parts, fence)
      if (copy) await this.#copies.delete(copy)
    } catch (error) {
      if (isCaptError(error, 'CAPT_STATE_FENCED') || isCaptError(error, 'CAPT_RECORD_TAKEN')) {
        this.#fenced = error
        this.#world.onFenced()
      }
      throw error
    }
  }

  /** Before any part is written: the last state that fits stays whole, and the record names the copy of the newest one. */
  async #refuse(text: string, copy: CopyRef): Promise<never> {
    const before = this.#refused
    this.#refused = { text, copy, error: stateTooLarge(text) }
    if (before) await this.#copies.delete(before.copy)
    else this.#world.onTooLarge(this.#refused.error)
    throw this.#refused.error
  }

  /** A copy of the state as it is before a change. Undefined: there is nothing to copy, or there is a copy of it. */
  planBackup(backups: readonly BackupRef[]): Backup | undefined {
    const text = this.#uploader.savedText
    const serial = this.info?.serial
    // One that a lost run has announced may never have been written.
    const isCopied = !this.#isTakeOver && backups.some((one) => one.serial === serial)
    return text === undefined || isCopied ? undefined : this.#copies.planBackup(text, backups)
  }

  /** Saved, and read back to be sure. What another run keeps us from saving goes into a copy beside the state. */
  async flush(verify: boolean): Promise<void> {
    try {
      await this.#uploader.flush()
      const text = this.#uploader.savedText
      if (verify && text !== undefined) await this.#verify(text)
    } catch (error) {
      const text = this.#uploader.newestText
      if (this.#fenced && text !== undefined) await this.#copies.saveAside(text)
      throw error
    }
  }

  /** A state that was deleted since it was saved is saved again, as long as the lock is ours. */
  async #verify(text: string): Promise<void> {
    const { objects, owner } = this.#world
    try {
      await verifyState(objects, owner, text)
    } catch (error) {
      if (!isCaptError(error, 'CAPT_STATE_NOT_SAVED')) throw error
      await this.#save(text)
      await verifyState(objects, owner, text)
    }
  }

  /** Deletes the copies that are of no use any more, and returns the change that removes them from the record. */
  async tidyCopies(): Promise<RecordChange> {
    if (this.#isSettled && !this.#fenced) await this.#copies.deleteObsolete(this.#uploader.savedText)
    return this.#copies.withoutDeleted()
  }

  stop(): void {
    this.#uploader.stop()
  }

  get saved(): SavedState | undefined {
    return this.#uploader.saved
  }

  /** Addresses in the state that is saved. */
  get savedAddresses(): ReadonlySet<string> {
    return this.#uploader.savedAddresses
  }

  /** The newest whole state, saved or on its way. */
  get info(): StateInfo | undefined {
    const text = this.#uploader.newestText
    return text === undefined ? undefined : readState(text)
  }
}

function newer(a: string | undefined, b: string | undefined): string | undefined {
  const first = a === undefined ? undefined : readState(a)
  const second = b === undefined ? undefined : readState(b)
  if (!second) return first ? a : undefined
  if (!first) return b
  return first.lineage === second.lineage && second.serial > first.serial ? b : a
}
