// Before anything is made: the inputs are frozen, the state as it was is copied, and the record says what will happen.
import { messageOf } from '#lib'
import { deleteBundle, packBundle, saveBundle } from '../bundle.ts'
import type { PlanCounts } from '../messages.ts'
import { addSuspects, type BundleRef, type PlanRef, type Run, type Suspect } from '../record/record.ts'
import { deleteBackup } from '../state/state-store.ts'
import type { Credentials } from './credentials.ts'
import type { Layout } from './prepare.ts'
import type { Session } from './session.ts'
import type { WorkspaceState } from './workspace-state.ts'

export interface Freezing {
  readonly session: Session
  readonly state: WorkspaceState
  readonly layout: Layout
  readonly credentials: Credentials
  readonly suspects: readonly Suspect[]
  readonly counts: PlanCounts
  /** What can be stored of the plan; undefined when there is none. */
  readonly plan: PlanRef | undefined
  readonly changes: boolean
  readonly backend: string | undefined
}

export async function freeze({
  session,
  state,
  layout,
  credentials,
  suspects,
  counts,
  plan,
  changes,
  backend,
}: Freezing): Promise<void> {
  const { keeper, request, world } = session
  const before = keeper.record
  const bundle = await freezeInputs(session, layout, before.bundle)
  const backups = changes ? await state.backUp(before.backups) : before.backups
  const kept = credentials.kept.map(({ namespace, name }) => `${namespace}/${name}`)
  await keeper.update(({ restored: _settled, plan: _earlier, ...record }) => ({
    ...addSuspects(record, suspects),
    ...(bundle ? { bundle } : {}),
    ...(plan ? { plan } : {}),
    ...(backend === undefined ? {} : { backend }),
    ...(state.saved ? { state: state.saved } : {}),
    backups,
    kept: [...new Set([...record.kept, ...kept])],
    run: { ...withoutInFlight(record.run!), phase: 'Apply', plan: counts },
  }))
  // Only now does nothing refer to the old ones.
  if (before.bundle && bundle && before.bundle.id !== bundle.id) {
    await quietly(session, () => deleteBundle(world.objects, request.owner, before.bundle!))
  }
  for (const old of before.backups.filter(({ serial }) => !backups.some((one) => one.serial === serial))) {
    await quietly(session, () => deleteBackup(world.objects, request.owner, old))
  }
}

/** Those are suspects by now. */
function withoutInFlight({ inFlight: _doubtful, ...run }: Run): Run {
  return run
}

async function freezeInputs(
  { world, request, folder }: Session,
  { workspace, private: leftOut }: Layout,
  current: BundleRef | undefined,
): Promise<BundleRef | undefined> {
  const { verb, owner, tool } = request
  if (verb === 'destroy' || current?.hash === workspace.hash) return current
  const name = `${tool.name} ${tool.version}`
  const packed = packBundle(folder.work, workspace, name, leftOut)
  return saveBundle(world.objects, owner, packed, workspace.hash, name)
}

async function quietly({ world }: Session, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    world.log.warn('Cleaning up failed', { error: messageOf(error) })
  }
}
