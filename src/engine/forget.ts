// Takes away what was kept for a workspace, the record last: whoever is interrupted on the way finds it and goes on.
import type { Objects } from '#kube'
import { isCaptError } from '#lib'
import { deleteBundle } from './bundle.ts'
import { deleteLock } from './lock.ts'
import { recordName, suffixOf } from './names.ts'
import type { Owner } from './owner.ts'
import { deletePlan } from './plan.ts'
import type { ForgetOptions } from './port.ts'
import type { RunRecord } from './record/record.ts'
import { readRecord } from './record/record-store.ts'
import { deleteCopy } from './state/state-copies.ts'
import { letGo, removeHold } from './state/state-secrets.ts'
import { releaseState } from './state/state-store.ts'
import type { ObjectKey } from './workspace.ts'

export async function forgetWorkspace(
  objects: Objects,
  owner: Owner,
  { keepState, stillUsed }: ForgetOptions,
): Promise<void> {
  const key = { namespace: owner.namespace, name: owner.name }
  const record = await readIfWhole(objects, key)
  for (const kept of record?.kept ?? []) {
    const [namespace = '', name = ''] = kept.split('/')
    if (!stillUsed.has(kept)) await removeHold(objects, { namespace, name })
  }
  if (record?.plan) await deletePlan(objects, key, record.plan)
  for (const spare of record?.spare ?? []) await deleteBundle(objects, key, spare)
  if (record?.bundle) await deleteBundle(objects, key, record.bundle)
  const copies = [...(record?.backups ?? []), ...(record?.pending ?? []), ...(record?.side ?? [])]
  for (const copy of copies) await deleteCopy(objects, key, copy)
  await releaseState(objects, key, keepState)
  await deleteLock(objects, key)
  await letGo(objects, { namespace: owner.namespace, name: recordName(suffixOf(key)) })
}

/** Of a damaged record nothing can be learned; it goes like any other. */
async function readIfWhole(objects: Objects, key: ObjectKey): Promise<RunRecord | undefined> {
  try {
    return (await readRecord(objects, key))?.record
  } catch (error) {
    if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE')) throw error
    return undefined
  }
}
