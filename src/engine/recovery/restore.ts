// What only a person may decide: which copy of a state holds, that a silent runner is gone, that suspects were looked at.
// Each is done under the lock or refused while a run is open.
import { hostname } from 'node:os'
import { WorkspaceTemplateApply } from '#api'
import { ignore, type Objects } from '#kube'
import { CaptError, type Clock, isCaptError, parseJson, toTimestamp } from '#lib'
import { lockState, releaseDeadLock, stateInUse } from '../lock/lock.ts'
import { livenessOf } from '../lock/processes.ts'
import type { Owner } from '../owner.ts'
import { closeRun, isOpen, type RunRecord } from '../record/record.ts'
import { changeRecord, readRecord } from '../record/record-store.ts'
import { copyId, copyRef, deleteCopy, saveCopy } from '../state/state-copies.ts'
import { readState, type StateInfo } from '../state/state-file.ts'
import { countChunks, loadState, saveState } from '../state/state-store.ts'
import type { ObjectKey } from '../workspace.ts'

/** Makes `text` the state that holds; what held before is copied first. Returns what was put there. */
export async function restoreState(objects: Objects, clock: Clock, owner: Owner, text: string): Promise<StateInfo> {
  const wanted = readState(text)
  if (!wanted) {
    throw new CaptError('CAPT_STATE_UNREADABLE', 'this is not a whole Terraform state of format version 4', {
      hint: `capt state list ${owner.name} shows the copies that are`,
    })
  }
  const lock = await lockState(objects, clock, owner, 'restore')
  try {
    const seen = await readRecord(objects, owner)
    if (isOpen(seen?.record.run)) throw stateInUse(owner, `run ${seen.record.run.id}`)
    const current = await loadState(objects, owner, seen?.record.backups ?? []).catch((error: unknown) => {
      // A damaged state is replaced; one that was not answered is not.
      if (!isCaptError(error, 'CAPT_STATE_UNREADABLE')) throw error
      return undefined
    })
    const before = current === undefined ? undefined : readState(current)
    const savedAt = toTimestamp(clock.now())
    if (before && current !== undefined) {
      const copy = copyRef(current, savedAt)
      const others = (record: RunRecord) => record.backups.filter((one) => one.serial !== copy.serial)
      await changeRecord(objects, owner, (record) => ({ ...record, backups: [copy, ...others(record)] }))
      await saveCopy(objects, owner, current, copy)
    }
    // Newer than anything that lies in a work folder, so that the folder does not win against the decision.
    const serial = Math.max(before?.serial ?? 0, seen?.record.state?.serial ?? 0, wanted.serial) + 1
    const restored = JSON.stringify({ ...(parseJson(text) as object), serial }, null, 2)
    await saveState(objects, owner, restored, await countChunks(objects, owner))
    const { lineage, addresses } = wanted
    await changeRecord(objects, owner, (record) => ({
      ...record,
      state: { serial, lineage, savedAt, resources: addresses.length },
      restored: { serial, lineage },
    }))
    return { ...wanted, serial }
  } finally {
    await lock.release()
  }
}

/** A person declares a runner gone: an open run is closed as lost, and its lock is released. */
export async function declareGone(objects: Objects, clock: Clock, owner: Owner): Promise<RunRecord['run']> {
  const seen = await readRecord(objects, owner)
  const run = seen?.record.run
  if (!seen || !isOpen(run)) {
    // It may have closed its run and kept its lock. One that is alive on this machine is about to release it.
    await releaseDeadLock(objects, owner, (holder) => livenessOf(holder) !== 'alive')
    return undefined
  }
  const who = run.runner ?? run.holder
  const fault = {
    kind: 'lost',
    code: 'CAPT_RUN_LOST',
    message: `somebody at ${hostname()} declared its runner on ${who.host} gone`,
    hint: 'the next attempt goes on from the saved state; look at status.suspects',
  } as const
  await changeRecord(objects, owner, (record) => closeRun(record, 'Lost', toTimestamp(clock.now()), fault))
  await releaseDeadLock(objects, owner, () => true)
  return run
}

/** Drops a copy that a runner without its lock saved: a person has taken care of what is in it. */
export async function discardCopy(objects: Objects, owner: Owner, id: string): Promise<void> {
  const seen = await readRecord(objects, owner)
  const copy = seen?.record.side?.find((one) => copyId(one) === id)
  if (!copy) {
    throw new CaptError('CAPT_STATE_MISSING', `there is no such copy for ${owner.namespace}/${owner.name}`, {
      hint: `capt state list ${owner.name} shows them; only copies beside the state can be dropped`,
    })
  }
  await changeRecord(objects, owner, ({ side = [], ...record }) => {
    const left = side.filter((one) => copyId(one) !== id)
    return { ...record, ...(left.length > 0 ? { side: left } : {}) }
  })
  await deleteCopy(objects, owner, copy)
}

export async function clearSuspects(objects: Objects, owner: Owner): Promise<number> {
  const suspects = (await readRecord(objects, owner))?.record.suspects.length ?? 0
  if (suspects > 0) await changeRecord(objects, owner, (record) => ({ ...record, suspects: [] }))
  return suspects
}

/** The apply as an owner; a workspace that outlived its apply is addressed by name alone. */
export async function findOwner(
  objects: Objects,
  key: ObjectKey,
): Promise<{ owner: Owner; apply: WorkspaceTemplateApply | undefined }> {
  const found = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key).catch(ignore('KindNotServed'))
  const apply = found ?? undefined
  const { apiVersion, kind } = WorkspaceTemplateApply
  return { owner: { ...key, uid: apply?.metadata.uid ?? '', apiVersion, kind }, apply }
}
