// Installs Karpenter in an existing EKS cluster: shows the plan, asks, executes it, and verifies the result.
import { karpenterNames } from '#catalog'
import { type Command, EXIT } from '../../command.ts'
import { CHANGE_OPTIONS, executePlan } from '../../karpenter/execute.ts'
import { clusterOf, PLAN_OPTIONS, planOptionsOf, SITE_OPTIONS, WAIT_OPTION } from '../../karpenter/karpenter.ts'
import { removeInstallation } from '../../karpenter/remove.ts'

export const command: Command = {
  name: 'karpenter install',
  group: 'Karpenter',
  summary: 'Install Karpenter in an existing EKS cluster',
  positionals: 'CLUSTER',
  examples: [
    { run: 'karpenter install demo', about: 'Show the plan, ask, install, verify' },
    { run: 'karpenter install demo --yes --probe', about: 'Without a question, and prove that a pod gets a node' },
    { run: 'karpenter install demo --provisioner provisioner.yaml', about: 'With the pools of an older Karpenter' },
    { run: 'karpenter install demo --rollback', about: 'Undo what an interrupted installation made' },
  ],
  options: {
    ...SITE_OPTIONS,
    ...PLAN_OPTIONS,
    ...WAIT_OPTION,
    ...CHANGE_OPTIONS,
    rollback: { type: 'boolean', about: 'Remove what capt made here instead.' },
  },
  async run(args, io) {
    if (args.values['rollback'] === true) return await removeInstallation('karpenter install', args, io)
    const profile = karpenterNames(clusterOf(args, 'karpenter install')).instanceProfile
    const options = await planOptionsOf(args, io, profile)
    return (await executePlan('karpenter install', args, io, options)) ? EXIT.fine : EXIT.failed
  },
}
