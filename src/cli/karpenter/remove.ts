// Shows what an uninstall of Karpenter takes away and what it would leave behind, asks, and does it.
import { describe, isGivenBack, orphansOf, type ResourceRef, readJournal, surveyRemoval, uninstall } from '#karpenter'
import { CaptError } from '#lib'
import { type Arguments, EXIT, type Io } from '../command.ts'
import { confirm } from '../output.ts'
import { atSite, resumable } from './karpenter.ts'

/** Pools and classes are listed as they are in the cluster. */
function lineOf(ref: ResourceRef, fluxUsers: readonly string[]): string {
  if (ref.type === 'flux' && fluxUsers.length > 0)
    return `  keep    ${describe(ref)}: used by ${fluxUsers.join(', ')}\n`
  if (isGivenBack(ref)) return `  restore ${describe(ref)}\n`
  return ['node-pool', 'node-class'].includes(ref.type) ? '' : `  remove  ${describe(ref)}\n`
}

export async function removeInstallation(command: string, args: Arguments, io: Io): Promise<number> {
  return await atSite(command, args, io, async (site) => {
    const { name } = site.cluster
    const kept = await readJournal(site.objects)
    if (!kept)
      throw new CaptError('CAPT_KARPENTER_JOURNAL', `capt has not installed Karpenter in ${name}`, {
        hint: 'what installed it removes it, such as terraform destroy or helm uninstall; nothing was changed',
      })
    const removal = await surveyRemoval(kept, site)
    const { pools, claims, classes, isControllerAlive, fluxUsers, made } = removal
    io.stderr.write(`Uninstall Karpenter ${kept.journal.version} from ${name}\n`)
    const gone = [
      ...pools.map((one) => `NodePool ${one}`),
      ...claims.map((one) => `NodeClaim ${one} and its machine`),
      ...classes.map((one) => `EC2NodeClass ${one}`),
    ]
    for (const text of gone) io.stderr.write(`  remove  ${text}\n`)
    for (const ref of made) io.stderr.write(lineOf(ref, fluxUsers))
    if (args.values['force'] === true && !isControllerAlive)
      for (const text of orphansOf(removal)) io.stderr.write(`  orphan  ${text}: nobody ends it\n`)
    if (args.values['dry-run'] === true) {
      io.stdout.write('Nothing was changed (--dry-run)\n')
      return EXIT.fine
    }
    if (!(await confirm(`Uninstall Karpenter from ${name} in account ${kept.journal.account}?`, args, io)))
      return EXIT.failed
    await resumable(io, () => uninstall(kept, removal, args.values['force'] === true, site))
    io.stdout.write(`Karpenter is gone from ${name}; what capt found there is as it was\n`)
    return EXIT.fine
  })
}
