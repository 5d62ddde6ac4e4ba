// Before anything is made: the inputs are stored, the record has the plan, what it makes and the copy of the state, and that
// copy is written.
import { messageOf } from '#lib'
import { onceMore, toInFlight } from '../record/in-flight.ts'
import { addSuspects, type BundleRef } from '../record/record.ts'
import { type BackupRef, deleteCopy } from '../state/state-copies.ts'
import type { RunContext } from './context.ts'
import { withSpare } from './inputs/bundle-store.ts'
import { markMessages } from './record/marked-messages.ts'
import type { Frozen, Reviewed } from './values.ts'

export async function freeze(context: RunContext, planned: Reviewed): Promise<Frozen> {
  const { state, bundles, plans, layout, terraform, credentials, suspects, counts, backend, recalled } = planned
  // Where Terraform keeps the state itself, it is unknown which state a plan was made from.
  const plan = counts && backend === undefined ? plans.announce(layout, counts) : plans.left
  const { writer } = context
  const before = writer.record
  const approved = context.request.approval?.approved
  const bundle = await bundles.store()
  const backup = counts ? state.planBackup(before.backups) : undefined
  const backups = backup?.backups ?? before.backups
  const outdated = before.backups.filter(({ serial }) => !backups.some((one) => one.serial === serial))
  const kept = credentials.kept.map(({ namespace, name }) => `${namespace}/${name}`)
  const origin = markMessages(context)
  await writer.update(({ restored: _settled, lostRun: _answered, plan: _earlier, spare, inFlight, ...record }) => ({
    ...addSuspects(record, suspects),
    ...(bundle ? { bundle } : {}),
    ...spareOf(withSpare(spare, [record.bundle]).filter(({ id }) => id !== bundle?.id)),
    ...(plan ? { plan } : {}),
    ...(backend === undefined ? {} : { backend }),
    ...(state.saved ? { state: state.saved } : {}),
    backups: [...backups, ...outdated],
    kept: [...new Set([...record.kept, ...kept])],
    ...(counts
      ? { inFlight: recalled ? onceMore(origin, inFlight) : toInFlight(origin, NONE, terraform.progress) }
      : {}),
    run: {
      ...record.run!,
      phase: 'Apply',
      plan: counts ?? terraform.progress.counts,
      ...(planned.changes ? { changes: planned.changes } : {}),
      ...(approved ? { approval: approved } : {}),
    },
  }))
  const isCopied = (await backup?.write()) ?? true
  // Only now does nothing refer to the old ones.
  void bundles.sweep()
  return { ...planned, origin, dropped: dropBackups(context, isCopied ? outdated : [...outdated, backups[0]!]) }
}

const NONE: ReadonlyMap<string, string> = new Map()

export function spareOf(spare: readonly BundleRef[]): { readonly spare?: readonly BundleRef[] } {
  return spare.length > 0 ? { spare } : {}
}

/** Beside the apply. Those that are gone leave the record when it is closed: until then another run may have to finish this. */
async function dropBackups(
  { world, request }: RunContext,
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
