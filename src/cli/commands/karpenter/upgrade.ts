// Brings an installation of capt's to a newer Karpenter in lockstep: permissions, definitions and chart, then the image.
import { type Command, EXIT } from '../../command.ts'
import { CHANGE_OPTIONS, executePlan } from '../../karpenter/execute.ts'
import { clusterOf, PLAN_OPTIONS, SITE_OPTIONS, WAIT_OPTION } from '../../karpenter/karpenter.ts'

export const command: Command = {
  name: 'karpenter upgrade',
  group: 'Karpenter',
  summary: 'Upgrade Karpenter in an existing EKS cluster: policy, CRDs, chart and image together',
  positionals: 'CLUSTER',
  examples: [
    { run: 'karpenter upgrade demo', about: 'To the newest version that the cluster supports' },
    { run: 'karpenter upgrade demo --version 1.14.1 --dry-run', about: 'Show what a version would change' },
  ],
  options: { ...SITE_OPTIONS, ...WAIT_OPTION, ...CHANGE_OPTIONS, version: PLAN_OPTIONS.version },
  async run(args, io) {
    clusterOf(args, 'karpenter upgrade')
    const { version } = args.values
    const options = { isUpgrade: true, ...(typeof version === 'string' ? { version } : {}) }
    return (await executePlan('karpenter upgrade', args, io, options)) ? EXIT.fine : EXIT.failed
  },
}
