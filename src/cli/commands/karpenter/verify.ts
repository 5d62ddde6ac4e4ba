// Proves that Karpenter works in a cluster: controller, placement, credentials, pools, and on request a new node.
import { checkInstallation, findNamespace, probe, readJournal } from '#karpenter'
import { type Command, EXIT } from '../../command.ts'
import { renderChecks } from '../../karpenter/checks.ts'
import { atSite, SITE_OPTIONS, WAIT_OPTION } from '../../karpenter/karpenter.ts'
import { OUTPUT_OPTION, outputOf, printData } from '../../output.ts'

export const command: Command = {
  name: 'karpenter verify',
  summary: 'Prove that Karpenter works: controller, credentials, pools, and on request a node',
  positionals: 'CLUSTER',
  examples: {
    'karpenter verify demo': 'Controller, placement, credentials and pools',
    'karpenter verify demo --probe': 'And a pod that gets a new node',
  },
  options: {
    ...SITE_OPTIONS,
    ...WAIT_OPTION,
    ...OUTPUT_OPTION,
    output: { ...OUTPUT_OPTION.output, value: 'json|yaml' },
    probe: { type: 'boolean', about: 'Start a pod that only a new node can take, and remove it again.' },
    pool: { type: 'string', value: 'NAME', default: 'default', about: 'NodePool of the probe pod.' },
    namespace: {
      type: 'string',
      short: 'n',
      value: 'NAME',
      about: 'Namespace of Karpenter; where capt installed it, or where it runs, otherwise.',
    },
  },
  async run(args, io) {
    const output = outputOf(args, ['json', 'yaml'])
    return await atSite('karpenter verify', args, io, async (site) => {
      const { namespace } = args.values
      const where =
        typeof namespace === 'string'
          ? namespace
          : ((await readJournal(site.objects))?.journal.namespace ?? (await findNamespace(site.objects)))
      const checks = [...(await checkInstallation(site.objects, where ?? 'kube-system'))]
      const isFine = () => checks.every((check) => check.isFine)
      if (args.values['probe'] === true && isFine()) checks.push(await probe(site, String(args.values['pool'])))
      if (output === 'json' || output === 'yaml') await printData({ isFine: isFine(), checks }, output, io)
      else io.stdout.write(renderChecks(checks, io))
      return isFine() ? EXIT.fine : EXIT.failed
    })
  },
}
