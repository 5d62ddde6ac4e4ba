// Before anything is made: the inputs are frozen, the state as it was is copied, and the record says what will happen.
import { messageOf } from '#lib'
import type { PlanCounts } from '../messages.ts'
import { addSuspects, type BundleRef, type PlanRef, type Run, type Suspect } from '../record/record.ts'
import { type BackupRef, deleteCopy } from '../state/state-copies.ts'
import { type BundleKeeper, withSpare } from './bundle-keeper.ts'
import type { Credentials } from './credentials.ts'
import type { Session } from './session.ts'
import type { WorkspaceState } from './workspace-state.ts'

export interface Freezing {
  readonly session: Session
  readonly state: WorkspaceState
  readonly bundles: BundleKeeper
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
  bundles,
  credentials,
  suspects,
  counts,
  plan,
  changes,
  backend,
}: Freezing): Promise<void> {
  const { keeper } = session
  const before = keeper.record
  const bundle = await bundles.store()
  const backups = changes ? await state.backUp(before.backups) : before.backups
  const outdated = before.backups.filter(({ serial }) => !backups.some((one) => one.serial === serial))
  const kept = credentials.kept.map(({ namespace, name }) => `${namespace}/${name}`)
  await keeper.update(({ restored: _settled, plan: _earlier, spare, ...record }) => ({
    ...addSuspects(record, suspects),
    ...(bundle ? { bundle } : {}),
    ...spareOf(withSpare(spare, [record.bundle]).filter(({ id }) => id !== bundle?.id)),
    ...(plan ? { plan } : {}),
    ...(backend === undefined ? {} : { backend }),
    ...(state.saved ? { state: state.saved } : {}),
    backups: [...backups, ...outdated],
    kept: [...new Set([...record.kept, ...kept])],
    run: { ...withoutInFlight(record.run!), phase: 'Apply', plan: counts },
  }))
  // Only now does nothing refer to the old ones.
  void bundles.sweep()
  session.trace.dropped = dropBackups(session, outdated)
}

/** Those are suspects by now. */
function withoutInFlight({ inFlight: _doubtful, ...run }: Run): Run {
  return run
}

export function spareOf(spare: readonly BundleRef[]): { readonly spare?: readonly BundleRef[] } {
  return spare.length > 0 ? { spare } : {}
}

/** Beside the apply. Those that are gone leave the record when it is closed: until then somebody may have to finish this. */
async function dropBackups(
  { world, request }: Session,
  outdated: readonly BackupRef[],
): Promise<ReadonlySet<BackupRef['serial']>> {
  const gone = new Set<BackupRef['serial']>()
  for (const backup of outdated) {
    try {
      await deleteCopy(world.objects, request.owner, backup)
      gone.add(backup.serial)
    } catch (error) {
      world.log.warn('Deleting an old copy of the state failed', { error: messageOf(error) })
    }
  }
  return gone
}
