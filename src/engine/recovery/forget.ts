// Removes what was kept for a workspace. The record is removed last, so that an interrupted removal can be resumed.
import { LeaseKind, SecretKind } from '#api'
import type { Objects } from '#kube'
import { leaseKey, recordKey } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { ForgetOptions } from '../port.ts'
import { isFresh, knownRecord } from '../record/rebuild.ts'
import type { RunRecord } from '../record/record.ts'
import { readIfWhole } from '../record/record-store.ts'
import { deleteBundle } from '../saved/bundle.ts'
import { deletePlan } from '../saved/plan.ts'
import { deleteCopy } from '../state/state-copies.ts'
import { deleteHeld, removeFinalizer } from '../state/state-secrets.ts'
import { observeState, releaseState } from '../state/state-store.ts'

export async function forgetWorkspace(
  objects: Objects,
  owner: Owner,
  { keepState, stillUsed }: ForgetOptions,
  report?: RunRecord,
): Promise<void> {
  const key = { namespace: owner.namespace, name: owner.name }
  const record = await readKnown(objects, owner, report)
  for (const kept of record.kept) {
    const [namespace = '', name = ''] = kept.split('/')
    if (!stillUsed.has(kept)) await removeFinalizer(objects, SecretKind, { namespace, name })
  }
  if (record.plan) await deletePlan(objects, key, record.plan)
  for (const spare of record.spare ?? []) await deleteBundle(objects, key, spare)
  if (record.bundle) await deleteBundle(objects, key, record.bundle)
  const copies = [...record.backups, ...(record.pending ?? []), ...(record.side ?? [])]
  for (const copy of copies) await deleteCopy(objects, key, copy)
  await releaseState(objects, key, keepState)
  await deleteHeld(objects, LeaseKind, leaseKey(key))
  await deleteHeld(objects, SecretKind, recordKey(key))
}

/** Where the record is lost, damaged or recreated, the state Secret and the folder name what else is kept. */
async function readKnown(objects: Objects, owner: Owner, report: RunRecord | undefined): Promise<RunRecord> {
  const record = await readIfWhole(objects, owner)
  if (record && !isFresh(record)) return record
  const { kept } = await observeState(objects, owner)
  return knownRecord(record, { kept, report })
}
