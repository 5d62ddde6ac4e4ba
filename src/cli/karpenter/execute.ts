// Shows a plan of Karpenter, asks, executes it and verifies the result: what install and upgrade have in common.
import {
  checkInstallation,
  handOver,
  install,
  isNothingToDo,
  type Options,
  planInstall,
  probe,
  type Survey,
  verify,
} from '#karpenter'
import { CaptError } from '#lib'
import { type Arguments, EXIT, type Io, type Option } from '../command.ts'
import { confirm } from '../output.ts'
import { renderChecks } from './checks.ts'
import { atSite, refuse, renderPlan, resumable } from './karpenter.ts'

export const CHANGE_OPTIONS = {
  yes: { type: 'boolean', short: 'y', about: 'Do not ask.' },
  'dry-run': { type: 'boolean', about: 'Show the plan and change nothing.' },
  probe: { type: 'boolean', about: 'Start a pod that only a new node can take, and remove it again.' },
} as const satisfies Record<string, Option>

/** False when something refused, or nobody agreed. */
export async function executePlan(
  command: string,
  args: Arguments,
  io: Io,
  optionsFor: (survey: Survey) => Promise<Options>,
): Promise<boolean> {
  const code = await atSite(command, args, io, async (site) => {
    const survey = await site.survey()
    const options = await optionsFor(survey)
    const { name } = survey.cluster
    if (options.isUpgrade && !survey.kubernetes.journal)
      throw new CaptError('CAPT_KARPENTER_JOURNAL', `capt has not installed Karpenter in ${name}`, {
        hint: `without a Karpenter: capt karpenter install ${name}; otherwise with what installed it, such as terraform apply or helm upgrade`,
      })
    const plan = planInstall(survey, options)
    if (plan.refusals.length > 0) {
      refuse(plan.refusals, io)
      return EXIT.failed
    }
    io.stderr.write(renderPlan(plan, io))
    const namespace = plan.choices.namespace.value
    // Without a journal nothing is left to do only where something else installed Karpenter: then capt writes none.
    const isDone = isNothingToDo(plan) && (survey.kubernetes.journal?.phase ?? 'installed') === 'installed'
    if (args.values['dry-run'] === true) {
      io.stdout.write(isDone ? 'Nothing to do\n' : 'Nothing was changed (--dry-run)\n')
      return EXIT.fine
    }
    if (isDone) io.stdout.write('Nothing to do\n')
    else {
      if (!(await confirm(`Change ${name} in account ${survey.accountId}, ${survey.region}?`, args, io)))
        return EXIT.failed
      await resumable(io, () => install(plan, survey, site))
    }
    const checks = [...(isDone ? await checkInstallation(site.objects, namespace) : await verify(site, namespace))]
    if (args.values['probe'] === true) checks.push(await probe(site, poolOf(plan.steps)))
    io.stdout.write(renderChecks(checks, io))
    const isWorking = checks.every(({ isFine }) => isFine)
    if (isWorking) await handOver(plan.handOver, site)
    if (!isDone) {
      const ours = plan.steps.filter(({ isOurs }) => isOurs).length
      io.stdout.write(
        `Karpenter ${plan.choices.version.value} works in ${name}: ${ours} things made by capt, ${plan.steps.length - ours} found\n`,
      )
    }
    return isWorking ? EXIT.fine : EXIT.failed
  })
  return code === EXIT.fine
}

function poolOf(steps: readonly { readonly resource: { readonly type: string; readonly name: string } }[]): string {
  return steps.find(({ resource }) => resource.type === 'node-pool')?.resource.name ?? 'default'
}
