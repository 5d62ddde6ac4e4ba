// After a restore from a backup: nothing of what was live when the backup was made is live. Runs become lost, plans that
// waited or were stored go, and every Lease goes, so that nothing waits for a process that is not there.
import { type AnyObject, JobKind, keyOf, type Lease, LeaseKind, WorkspaceTemplateApply } from '#api'
import { ignore, type Objects } from '#kube'
import { toTimestamp } from '#lib'
import type { RunFault } from '../faults/faults.ts'
import { holderOf } from '../lock/lease.ts'
import { checksKey, WORKSPACE_LABEL } from '../names.ts'
import { toOwner } from '../owner.ts'
import { closeRun, isOpen, type Run, type RunRecord } from '../record/record.ts'
import { changeRecord, readIfWhole } from '../record/record-store.ts'
import { deletePlan } from '../saved/plan.ts'
import type { ObjectKey } from '../workspace.ts'

/** Of an embedded home, where every Lease is ours. Can be repeated. Nobody else may work on the objects meanwhile. */
export async function settleAfterRestore(objects: Objects, nowMs: number): Promise<void> {
  await settleRecords(objects, nowMs)
  for (const lease of await Array.fromAsync(objects.list<Lease>(LeaseKind))) await deleteLease(objects, lease)
}

interface Settled {
  /** `namespace/name` of the applies whose run or plan was closed. */
  readonly closed: readonly string[]
  readonly locks: number
  readonly jobs: number
}

/**
 * Of a management cluster: Leases and Jobs of workspaces alone. A lock that a person's terraform holds stays: only that person
 * knows. Can be repeated. No manager may work on the objects meanwhile.
 */
export async function settleManagementCluster(objects: Objects, nowMs: number): Promise<Settled> {
  const ours = { labelSelector: WORKSPACE_LABEL }
  // Jobs first: one that is started again would resume its run.
  const jobs = await Array.fromAsync(objects.list<AnyObject>(JobKind, ours))
  for (const job of jobs)
    await objects.delete(JobKind, keyOf(job), { propagation: 'Background' }).catch(ignore('NotFound'))
  const closed = await settleRecords(objects, nowMs)
  const locks = (await Array.fromAsync(objects.list<Lease>(LeaseKind, ours))).filter(
    (lease) => !lease.spec?.holderIdentity || holderOf(lease) !== undefined,
  )
  for (const lease of locks) await deleteLease(objects, lease)
  return { closed, locks: locks.length, jobs: jobs.length }
}

async function settleRecords(objects: Objects, nowMs: number): Promise<readonly string[]> {
  const closed: string[] = []
  const applies = await Array.fromAsync(objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply))
  for (const { metadata } of applies) {
    const key = { namespace: metadata.namespace ?? '', name: metadata.name }
    const results = []
    for (const workspace of [key, checksKey(key)])
      results.push(await settleRecord(objects, workspace, toTimestamp(nowMs)))
    if (results.includes(true)) closed.push(`${key.namespace}/${key.name}`)
  }
  return closed
}

/** False when nothing of it was live. */
async function settleRecord(objects: Objects, key: ObjectKey, at: string): Promise<boolean> {
  // A record that cannot be read is the business of its controller.
  const record = await readIfWhole(objects, key)
  if (!record || (!isOpen(record.run) && !record.plan && !record.proposed)) return false
  if (record.plan) await deletePlan(objects, key, record.plan)
  await changeRecord(objects, toOwner(key), (one) => settledRecord(one, at))
  return true
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

async function deleteLease(objects: Objects, lease: Lease): Promise<void> {
  const key = keyOf(lease)
  const body = { metadata: { finalizers: null } }
  if (lease.metadata.finalizers?.length)
    await objects.patch(LeaseKind, key, { type: 'merge', body }).catch(ignore('NotFound'))
  await objects.delete(LeaseKind, key)
}
