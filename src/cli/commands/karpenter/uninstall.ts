// Takes Karpenter away from an existing EKS cluster: nodes first, then the release, then only what capt made.
import type { Command } from '../../command.ts'
import { clusterOf, SITE_OPTIONS, WAIT_OPTION } from '../../karpenter/karpenter.ts'
import { removeInstallation } from '../../karpenter/remove.ts'

export const command: Command = {
  name: 'karpenter uninstall',
  summary: 'Remove Karpenter from an existing EKS cluster, and what capt made for it',
  positionals: 'CLUSTER',
  examples: {
    'karpenter uninstall demo': 'Drain the pools, end the nodes, remove what capt made',
    'karpenter uninstall demo --dry-run': 'Show what would go',
    'karpenter uninstall demo --force': 'Where Karpenter no longer runs: lists what it leaves behind',
  },
  options: {
    ...SITE_OPTIONS,
    ...WAIT_OPTION,
    yes: { type: 'boolean', short: 'y', about: 'Do not ask.' },
    'dry-run': { type: 'boolean', about: 'Show what would go and change nothing.' },
    force: { type: 'boolean', about: 'Leave machines behind when no controller runs that could end them.' },
  },
  async run(args, io) {
    clusterOf(args, 'karpenter uninstall')
    return await removeInstallation('karpenter uninstall', args, io)
  },
}
