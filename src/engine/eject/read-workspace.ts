// Reads a workspace that is to be handed over to plain Terraform: the inputs of its last run and the state that holds. Reads
// only, and refuses where what it would hand over is not the whole truth.
import type { WorkspaceTemplateApply } from '#api'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import type { Suspect } from '../record/record.ts'
import { readRecord } from '../record/record-store.ts'
import { examineWorkspace, type WorkspaceExam } from '../recovery/examine.ts'
import { type Bundle, loadBundle } from '../saved/bundle.ts'
import { readState, type StateInfo } from '../state/state-file.ts'
import { loadState } from '../state/state-store.ts'
import type { ObjectKey } from '../workspace.ts'

/** What the applies of a cluster leave to a user who goes on with Terraform. */
export interface HeldWorkspace {
  readonly key: ObjectKey
  readonly workspaceId: string
  readonly bundle: Bundle
  /** Undefined where Terraform keeps the state itself, in the backend that the template names. */
  readonly state: (StateInfo & { readonly text: string }) | undefined
  /** The backend that the template names. */
  readonly backend: string | undefined
  /** Which run was the last, and how it ended: another one must not begin in between. */
  readonly lastRun: { readonly id: string; readonly phase: string; readonly untouched?: true }
  /** The inputs are those that were last applied with success. */
  readonly isApplied: boolean
  readonly suspects: readonly Suspect[]
}

/** `status`: resources in the status of the apply. */
export async function readHeldWorkspace(
  objects: Objects,
  apply: WorkspaceTemplateApply,
  status: number,
): Promise<HeldWorkspace> {
  const key = { namespace: apply.metadata.namespace ?? '', name: apply.metadata.name }
  if (apply.metadata.deletionTimestamp) throw refusal(key, 'is being deleted', 'there will be nothing to hand over')
  const exam = await examineWorkspace(objects, key, { status })
  const refused = refusalOf(key, exam)
  if (refused) throw refused
  // Those are whole: the exam says so.
  const record = (await readRecord(objects, key))?.record
  if (!record?.run || !record.bundle) throw neverApplied(key)
  const text = record.backend === undefined ? await loadState(objects, key) : undefined
  const state = text === undefined ? undefined : readState(text)
  if (record.backend === undefined && !state) throw neverApplied(key)
  return {
    key,
    workspaceId: record.workspaceId,
    bundle: await loadBundle(objects, key, record.bundle),
    state: state && { ...state, text: text! },
    backend: record.backend,
    lastRun: record.run,
    isApplied: record.applied?.hash === record.bundle.hash,
    suspects: record.suspects,
  }
}

/** Whether nobody began a run or saved another state since the workspace was read. */
export async function isUnchanged(objects: Objects, { key, lastRun, state }: HeldWorkspace): Promise<boolean> {
  const record = (await readRecord(objects, key))?.record
  if (record?.run?.id !== lastRun.id || record.run.phase !== lastRun.phase) return false
  return state === undefined || (await loadState(objects, key)) === state.text
}

/** Why a workspace cannot be handed over as it is. Pure. */
export function refusalOf(key: ObjectKey, { record, lock, holds }: WorkspaceExam): CaptError | undefined {
  const { name } = key
  if (record && 'is' in record) return new CaptError('CAPT_RECORD_UNREADABLE', record.message, { hint: record.hint })
  if (!holds)
    return refusal(key, 'has a run in progress', `wait for it (capt logs ${name}), or stop it: capt cancel ${name}`)
  if (lock.is === 'foreign') return refusal(key, `is locked by ${lock.who}`, `wait for them, or: ${lock.command}`)
  if (lock.is === 'ours' && lock.liveness !== 'dead')
    return refusal(key, `is locked by a process on ${lock.holder.host}`, `capt doctor ${name} names it`)
  if (holds.is === 'stalled') return new CaptError(holds.code, holds.message, { hint: holds.hint })
  if (holds.is === 'restore')
    return refusal(
      key,
      'has lost its state, but there is a copy of it',
      `capt state restore ${name} --serial ${holds.copy} makes the copy hold`,
    )
  return holds.is === 'use' ? undefined : neverApplied(key)
}

const neverApplied = (key: ObjectKey): CaptError =>
  refusal(key, 'has nothing that Terraform made', `capt describe wtapply ${key.name} shows what it waits for`)

function refusal({ namespace, name }: ObjectKey, why: string, hint: string): CaptError {
  return new CaptError('CAPT_EJECT_REFUSED', `WorkspaceTemplateApply ${namespace}/${name} ${why}`, { hint })
}
