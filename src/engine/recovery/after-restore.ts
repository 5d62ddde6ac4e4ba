// After a restore from a backup: nothing of what was live when the backup was made is live. Runs become lost, plans that
// waited or were stored go, and every Lease goes, so that nothing waits for a process that is not there.
import { keyOf, type Lease, LeaseKind, WorkspaceTemplateApply } from '#api'
import { isKubeError, type Objects } from '#kube'
import { isCaptError, toTimestamp } from '#lib'
import type { RunFault } from '../faults/faults.ts'
import { checksKey } from '../names.ts'
import { closeRun, isOpen, type Run, type RunRecord } from '../record/record.ts'
import { changeRecord, readRecord } from '../record/record-store.ts'
import { deletePlan } from '../saved/plan.ts'
import type { ObjectKey } from '../workspace.ts'

/** Can be repeated. Nobody else may work on the objects meanwhile. */
export async function settleAfterRestore(objects: Objects, nowMs: number): Promise<void> {
  const at = toTimestamp(nowMs)
  for await (const { metadata } of objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply)) {
    const key = { namespace: metadata.namespace ?? '', name: metadata.name }
    for (const workspace of [key, checksKey(key)]) await settleRecord(objects, workspace, at)
  }
  const leases: Lease[] = []
  for await (const lease of objects.list<Lease>(LeaseKind)) leases.push(lease)
  for (const lease of leases) await deleteLease(objects, lease)
}

async function settleRecord(objects: Objects, key: ObjectKey, at: string): Promise<void> {
  const record = await readIfWhole(objects, key)
  if (!record || (!isOpen(record.run) && !record.plan && !record.proposed)) return
  if (record.plan) await deletePlan(objects, key, record.plan)
  await changeRecord(objects, { ...key, uid: '', apiVersion: '', kind: '' }, (one) => settledRecord(one, at))
}

/** Pure: the record as it is after a restore. */
export function settledRecord(record: RunRecord, at: string): RunRecord {
  const { plan: _plan, proposed: _proposed, ...rest } = record
  return isOpen(rest.run) ? closeRun(rest, 'Lost', at, restoredFault(rest.run)) : rest
}

const restoredFault = ({ verb }: Run): RunFault => ({
  kind: 'lost',
  code: 'CAPT_RUN_LOST',
  message: `the ${verb} was in progress when the backup was made; how it ended is not in the backup`,
  hint: 'compare the plan with what is there before you approve it; look at status.suspects',
})

/** A record that cannot be read is the business of its controller. */
async function readIfWhole(objects: Objects, key: ObjectKey): Promise<RunRecord | undefined> {
  try {
    return (await readRecord(objects, key))?.record
  } catch (error) {
    if (isCaptError(error, 'CAPT_RECORD_UNREADABLE')) return undefined
    throw error
  }
}

async function deleteLease(objects: Objects, lease: Lease): Promise<void> {
  const key = keyOf(lease)
  try {
    if (lease.metadata.finalizers?.length)
      await objects.patch(LeaseKind, key, { type: 'merge', body: { metadata: { finalizers: null } } })
    await objects.delete(LeaseKind, key)
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
  }
}
