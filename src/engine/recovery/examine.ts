// Everything that is kept beside an apply, read once for a person who asks what is wrong: record, lock, state. Reads
// only, and what cannot be read is part of the answer.
import type { Objects } from '#kube'
import { isCaptError } from '#lib'
import { type ObservedLock, observeLock } from '../lock/lock.ts'
import { type Liveness, livenessOf } from '../lock/processes.ts'
import { toOwner } from '../owner.ts'
import type { ApplyFacts } from '../port.ts'
import { isOpen, type RunRecord } from '../record/record.ts'
import { readRecord } from '../record/record-store.ts'
import type { Reconstruction } from '../state/reconstruct.ts'
import { readState } from '../state/state-file.ts'
import { readIdentities, type StateIdentities } from '../state/state-identities.ts'
import { loadState } from '../state/state-store.ts'
import type { ObjectKey } from '../workspace.ts'
import { type InspectOptions, inspectWorkspace } from './inspect.ts'

interface Unreadable {
  readonly is: 'unreadable'
  readonly message: string
  readonly hint: string
}

type ObservedState =
  | { readonly is: 'none' }
  /** Terraform keeps it itself, in the backend that the template names. */
  | { readonly is: 'elsewhere'; readonly backend: string }
  | Unreadable
  | {
      readonly is: 'whole'
      readonly serial: number
      readonly lineage: string
      readonly addresses: readonly string[]
      readonly identities: StateIdentities
    }

export interface WorkspaceExam {
  readonly record: RunRecord | Unreadable | undefined
  readonly lock: ObservedLock
  readonly state: ObservedState
  /** What the workspace holds by all sources; undefined while a run is on, which is ahead of them. */
  readonly holds?: Reconstruction
  /** Liveness of the process that executes the current run; undefined when no run is under way. */
  readonly runner: Liveness | undefined
}

export async function examineWorkspace(
  objects: Objects,
  key: ObjectKey,
  options: ApplyFacts & Pick<InspectOptions, 'countTagged'> = {},
): Promise<WorkspaceExam> {
  const record = await orUnreadable(async () => (await readRecord(objects, key))?.record)
  const known = record && !isUnreadable(record) ? record : undefined
  const run = known?.run
  return {
    record,
    lock: await observeLock(objects, key),
    state: await observeSavedState(objects, key, known),
    ...(isOpen(run) ? {} : { holds: await inspectWorkspace(objects, toOwner(key), options) }),
    runner: isOpen(run) ? livenessOf(run.runner ?? run.holder) : undefined,
  }
}

async function observeSavedState(
  objects: Objects,
  key: ObjectKey,
  record: RunRecord | undefined,
): Promise<ObservedState> {
  if (record?.backend !== undefined) return { is: 'elsewhere', backend: record.backend }
  const text = await orUnreadable(() => loadState(objects, key, record?.backups ?? []))
  if (typeof text === 'object') return text
  const state = text === undefined ? undefined : readState(text)
  if (text === undefined || !state) return { is: 'none' }
  const { serial, lineage, addresses } = state
  return { is: 'whole', serial, lineage, addresses, identities: readIdentities(text) }
}

export function isUnreadable(value: object): value is Unreadable {
  return (value as { readonly is?: unknown }).is === 'unreadable'
}

/** Damage is a finding; that the server does not answer or does not allow it is not. */
async function orUnreadable<T>(read: () => Promise<T>): Promise<T | Unreadable> {
  try {
    return await read()
  } catch (error) {
    if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE') && !isCaptError(error, 'CAPT_STATE_UNREADABLE')) throw error
    return { is: 'unreadable', message: error.message, hint: error.hint ?? '' }
  }
}
