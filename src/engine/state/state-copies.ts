// Whole copies of a state under names of their own, which Terraform's backend does not read: as it was before a change,
// while a state of several parts is replaced, and what a runner saved that had lost its lock.
import type { Objects } from '#kube'
import { backupName, runCopyName, suffixOf } from '../names.ts'
import { keptMetadata, type Owner } from '../owner.ts'
import type { ObjectKey } from '../workspace.ts'
import { readState } from './state-file.ts'
import { letGo, putStateSecret, readChunks, toChunks } from './state-secrets.ts'

export interface BackupRef {
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

function nameOf(key: ObjectKey, { serial, run }: Pick<BackupRef, 'serial' | 'run'>, part: number): string {
  const suffix = suffixOf(key)
  return run === undefined ? backupName(suffix, serial, part) : runCopyName(suffix, serial, run, part)
}

/** What the record says of a copy, before any of it is written. */
export function copyRef(text: string, savedAt: string): BackupRef {
  const { serial, addresses } = readState(text)!
  return { serial, parts: toChunks(text).length, savedAt, resources: addresses.length }
}

export async function saveCopy(objects: Objects, owner: Owner, text: string, ref: BackupRef): Promise<void> {
  for (const [part, chunk] of toChunks(text).entries()) {
    await putStateSecret(objects, keptMetadata(owner, nameOf(owner, ref, part), 'backup'), chunk)
  }
}

/** A copy as it was before a change. */
export async function saveBackup(objects: Objects, owner: Owner, text: string, savedAt: string): Promise<BackupRef> {
  const ref = copyRef(text, savedAt)
  await saveCopy(objects, owner, text, ref)
  return ref
}

export function loadBackup(objects: Objects, key: ObjectKey, serial: number): Promise<string | undefined> {
  return loadCopy(objects, key, { serial })
}

/** Undefined when it is gone or damaged. */
export async function loadCopy(
  objects: Objects,
  key: ObjectKey,
  ref: Pick<BackupRef, 'serial' | 'run'>,
): Promise<string | undefined> {
  const found = await readChunks(objects, key.namespace, (part) => nameOf(key, ref, part))
  return found.is === 'whole' && readState(found.text) ? found.text : undefined
}

export async function deleteCopy(objects: Objects, key: ObjectKey, ref: BackupRef): Promise<void> {
  for (let part = 0; part < ref.parts; part++) {
    await letGo(objects, { namespace: key.namespace, name: nameOf(key, ref, part) })
  }
}
