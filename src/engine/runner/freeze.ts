// Before anything is made: the inputs are frozen, the state as it was is copied, and the record says what will happen.
import type { Objects } from '#kube'
import { type Log, messageOf } from '#lib'
import { deleteBundle, packBundle, saveBundle } from '../bundle.ts'
import type { PlanCounts } from '../messages.ts'
import { addSuspects, type BundleRef, type Suspect } from '../record/record.ts'
import { deleteBackup } from '../state/state-store.ts'
import type { Credentials } from './credentials.ts'
import type { Folder, RunRequest } from './folder.ts'
import type { Layout } from './prepare.ts'
import type { RecordKeeper } from './record-keeper.ts'
import type { WorkspaceState } from './workspace-state.ts'

export interface Freezing {
  readonly objects: Objects
  readonly request: RunRequest
  readonly folder: Folder
  readonly keeper: RecordKeeper
  readonly state: WorkspaceState
  readonly layout: Layout
  readonly credentials: Credentials
  readonly suspects: readonly Suspect[]
  readonly plan: PlanCounts
  readonly changes: boolean
  readonly backend: string | undefined
  readonly log: Log
}

export async function freeze(freezing: Freezing): Promise<void> {
  const { objects, request, keeper, state, credentials, suspects, plan, changes, backend } = freezing
  const before = keeper.record
  const bundle = await freezeInputs(freezing, before.bundle)
  const backups = changes ? await state.backUp(before.backups) : before.backups
  const kept = credentials.kept.map(({ namespace, name }) => `${namespace}/${name}`)
  await keeper.update(({ restored: _settled, ...record }) => ({
    ...addSuspects(record, suspects),
    ...(bundle ? { bundle } : {}),
    ...(backend === undefined ? {} : { backend }),
    ...(state.saved ? { state: state.saved } : {}),
    backups,
    kept: [...new Set([...record.kept, ...kept])],
    run: { ...record.run!, phase: 'Apply', plan },
  }))
  // Only now does nothing refer to the old ones.
  if (before.bundle && bundle && before.bundle.id !== bundle.id) {
    await quietly(freezing, () => deleteBundle(objects, request.owner, before.bundle!))
  }
  for (const old of before.backups.filter(({ serial }) => !backups.some((one) => one.serial === serial))) {
    await quietly(freezing, () => deleteBackup(objects, request.owner, old))
  }
}

async function freezeInputs(
  { objects, request, folder, layout }: Freezing,
  current: BundleRef | undefined,
): Promise<BundleRef | undefined> {
  const { verb, owner, tool } = request
  const { workspace } = layout
  if (verb === 'destroy' || current?.hash === workspace.hash) return current
  const name = `${tool.name} ${tool.version}`
  const packed = packBundle(folder.work, workspace, name, layout.private)
  return saveBundle(objects, owner, packed, workspace.hash, name)
}

async function quietly({ log }: Freezing, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn('Cleaning up failed', { error: messageOf(error) })
  }
}
