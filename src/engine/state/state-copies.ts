// Whole copies of a state under names of their own, which Terraform's backend does not read: as it was before a change,
// while a state of several parts is replaced, and what a runner saved that had lost its lock.
import { SecretKind } from '#api'
import type { Objects } from '#kube'
import { backupName, runCopyName, slotName, suffixOf } from '../names.ts'
import { keptMetadata, type Owner } from '../owner.ts'
import type { Slotted } from '../record/record.ts'
import type { ObjectKey } from '../workspace.ts'
import { readState } from './state-file.ts'
import { deleteHeld, putStateSecret, readChunks, toChunks } from './state-secrets.ts'

export interface BackupRef extends Slotted {
  readonly serial: number
  readonly parts: number
  readonly savedAt: string
  readonly resources: number
  /** Id of the run that made it for itself; none for a copy made before a change. */
  readonly run?: string
}

export interface CopyRef extends BackupRef {
  readonly run: string
}

/** How people address a copy: `7`, or `7-1a2b3c4d`. */
export function copyId({ serial, run }: Pick<BackupRef, 'serial' | 'run'>): string {
  return run === undefined ? String(serial) : `${serial}-${run.slice(0, 8)}`
}

type Named = Pick<BackupRef, 'serial' | 'run' | 'slots'>

function nameOf(key: ObjectKey, { serial, run, slots }: Named, part: number): string {
  const suffix = suffixOf(key)
  const slot = slots?.[part]
  if (slot !== undefined) return slotName(suffix, slot)
  return run === undefined ? backupName(suffix, serial, part) : runCopyName(suffix, serial, run, part)
}

/** Chooses slots for so many parts, where the writer may use no other names. */
export type TakeSlots = (parts: number) => Slotted

/** The entry of a copy in the record, before any of it is written. */
export function copyRef(text: string, savedAt: string): BackupRef {
  const { serial, addresses } = readState(text)!
  return { serial, parts: toChunks(text).length, savedAt, resources: addresses.length }
}

export async function saveCopy(objects: Objects, owner: Owner, text: string, ref: BackupRef): Promise<void> {
  for (const [part, chunk] of toChunks(text).entries()) {
    await putStateSecret(objects, keptMetadata(owner, nameOf(owner, ref, part), 'backup'), chunk)
  }
}

/** Undefined when it is gone or damaged. */
export async function loadCopy(objects: Objects, key: ObjectKey, ref: Named): Promise<string | undefined> {
  const found = await readChunks(objects, key.namespace, (part) => nameOf(key, ref, part))
  const state = found.is === 'whole' ? readState(found.text) : undefined
  // A slot may hold what an interrupted run left in it.
  if (found.is !== 'whole' || !state || (ref.slots && state.serial !== ref.serial)) return undefined
  return found.text
}

export async function deleteCopy(objects: Objects, key: ObjectKey, ref: BackupRef): Promise<void> {
  for (let part = 0; part < ref.parts; part++) {
    await deleteHeld(objects, SecretKind, { namespace: key.namespace, name: nameOf(key, ref, part) })
  }
}
