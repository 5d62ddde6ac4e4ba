// Reads what the decision about a workspace needs: facts of states and of the copies that a record announces.
import type { Objects } from '#kube'
import { sha256 } from '#lib'
import type { RunRecord } from '../record/record.ts'
import type { ObjectKey } from '../workspace.ts'
import type { CopySource, RecordSource, StateSource } from './reconstruct.ts'
import { type BackupRef, copyId, loadCopy } from './state-copies.ts'
import { readState } from './state-file.ts'
import { readIdentities } from './state-identities.ts'

export function stateSource(text: string | undefined, isDamaged = false): StateSource {
  const info = text === undefined ? undefined : readState(text)
  if (text === undefined || !info) return { is: isDamaged || (text ?? '').trim() !== '' ? 'damaged' : 'missing' }
  const { serial, lineage, addresses } = info
  return { is: 'whole', serial, lineage, resources: addresses.length, digest: sha256(text) }
}

export function recordSource(record: RunRecord | undefined, isInterrupted: boolean): RecordSource {
  return record ? { ...record, is: 'whole', isInterrupted } : { is: 'missing' }
}

export function hasUnsettled({ pending = [], side = [] }: Pick<RunRecord, 'pending' | 'side'>): boolean {
  return pending.length > 0 || side.length > 0
}

/** Copies that the record announces, each as it is found. `saved`: the state that side copies are compared with. */
export async function readCopies(
  objects: Objects,
  key: ObjectKey,
  { backups, pending = [], side = [] }: Pick<RunRecord, 'backups' | 'pending' | 'side'>,
  saved: string | undefined,
): Promise<readonly CopySource[]> {
  const known = saved !== undefined && readState(saved) ? readIdentities(saved).ids : new Set<string>()
  const read = async (kind: CopySource['kind'], ref: BackupRef): Promise<CopySource> => {
    const text = await loadCopy(objects, key, ref)
    const ids = kind === 'side' && text !== undefined ? [...readIdentities(text).ids] : []
    return {
      kind,
      id: copyId(ref),
      serial: ref.serial,
      source: stateSource(text, text === undefined),
      unknown: ids.filter((id) => !known.has(id)).length,
    }
  }
  const found: CopySource[] = []
  for (const ref of pending) found.push(await read('pending', ref))
  for (const ref of side) found.push(await read('side', ref))
  for (const ref of backups) found.push(await read('backup', ref))
  return found
}

/** The copy that people and decisions call by this name. */
export function findCopy(
  { backups, pending = [], side = [] }: Pick<RunRecord, 'backups' | 'pending' | 'side'>,
  id: string,
): BackupRef | undefined {
  return [...pending, ...side, ...backups].find((ref) => copyId(ref) === id)
}
