// The state of one workspace during a run: which of its copies holds, where Terraform finds it, and that every change of
// it is saved. Nothing else in the runner touches state.
import { dirname } from 'node:path'
import type { Objects } from '#kube'
import { CaptError, type Clock, type Log, messageOf, toTimestamp } from '#lib'
import type { Owner } from '../owner.ts'
import { isPassing } from '../patient.ts'
import type { RunRecord, SavedState } from '../record/record.ts'
import { chooseState, readState, type StateInfo } from '../state/state-file.ts'
import {
  type BackupRef,
  chunksOf,
  countChunks,
  deleteBackup,
  loadState,
  type StateCopy,
  saveBackup,
  saveState,
  verifyState,
} from '../state/state-store.ts'
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
}

export class WorkspaceState {
  readonly #world: StateWorld
  #keeper: StateKeeper
  #parts: number

  private constructor(world: StateWorld, saved: string | undefined, parts: number) {
    this.#world = world
    this.#parts = parts
    this.#keeper = this.#keep(dirname(findState(world.folder) ?? `${world.folder.work}/`), saved, true)
  }

  /** From here on every change is saved, also those of a Terraform that an earlier runner started. */
  static async open(world: StateWorld, backups: readonly BackupRef[], seen?: StateCopy): Promise<WorkspaceState> {
    if (seen) return new WorkspaceState(world, seen.text, seen.parts)
    const saved = await loadState(world.objects, world.owner, backups)
    const parts = saved === undefined ? 0 : await countChunks(world.objects, world.owner)
    return new WorkspaceState(world, saved, parts)
  }

  /** Decides between the folder and what is saved, and puts the newest where Terraform will run. */
  async settle(root: string, restored: RunRecord['restored']): Promise<void> {
    this.#keeper.stop()
    await this.#keeper.flush()
    const { folder, owner } = this.#world
    const here = newer(stateInFolder(folder), readText(folder.stateCopy))
    const saved = this.#keeper.savedText
    const isDecided = restored !== undefined && saved !== undefined && isState(saved, restored)
    const choice = isDecided ? ({ use: 'saved' } as const) : chooseState(here, saved)
    if (choice.use === 'conflict') {
      throw new CaptError('CAPT_STATE_CONFLICT', choice.message, {
        hint: `capt state list ${owner.name} shows the copies; capt state restore decides which one holds`,
      })
    }
    this.#place(root, choice.use === 'folder' ? here : choice.use === 'saved' ? saved : undefined)
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

  #keep(root: string, saved: string | undefined, onlySuccessors = false): StateKeeper {
    const { folder, clock, log } = this.#world
    const save = (text: string) => this.#save(text)
    const keeper = new StateKeeper({ root, copy: folder.stateCopy, clock, log, onlySuccessors, save }, saved)
    keeper.start()
    return keeper
  }

  /** A state of several chunks is not written at once: a whole copy of it lies beside it meanwhile. */
  async #save(text: string): Promise<void> {
    const { objects, owner, clock } = this.#world
    const isChunked = chunksOf(text) > 1
    const copy = isChunked ? await saveBackup(objects, owner, text, toTimestamp(clock.now())) : undefined
    this.#parts = await saveState(objects, owner, text, this.#parts)
    if (copy) await deleteBackup(objects, owner, copy)
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

  /** Saved, and read back to be sure. */
  async flush(verify: boolean): Promise<void> {
    await this.#keeper.flush()
    const text = this.#keeper.savedText
    if (verify && text !== undefined) await verifyState(this.#world.objects, this.#world.owner, text)
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
    const text = this.#keeper.savedText
    return text === undefined ? undefined : readState(text)
  }
}

function isState(text: string, { serial, lineage }: NonNullable<RunRecord['restored']>): boolean {
  const info = readState(text)
  return info?.serial === serial && info.lineage === lineage
}

function newer(a: string | undefined, b: string | undefined): string | undefined {
  const first = a === undefined ? undefined : readState(a)
  const second = b === undefined ? undefined : readState(b)
  if (!second) return first ? a : undefined
  if (!first) return b
  return first.lineage === second.lineage && second.serial > first.serial ? b : a
}
