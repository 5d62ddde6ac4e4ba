// Installs Karpenter in an existing EKS cluster: shows the plan, asks, executes it, and verifies the result.
import type { Survey } from '#karpenter'
import { type Command, EXIT } from '../../command.ts'
import { CHANGE_OPTIONS, executePlan } from '../../karpenter/execute.ts'
import { PLAN_OPTIONS, planOptionsOf, SITE_OPTIONS, WAIT_OPTION } from '../../karpenter/karpenter.ts'
import { removeInstallation } from '../../karpenter/remove.ts'

export const command: Command = {
  name: 'karpenter install',
  summary: 'Install Karpenter in an existing EKS cluster',
  positionals: 'CLUSTER',
  examples: {
    'karpenter install demo': 'Show the plan, ask, install, verify',
    'karpenter install demo --yes --probe': 'Without a question, and prove that a pod gets a node',
    'karpenter install demo --provisioner provisioner.yaml': 'With the pools of an older Karpenter',
    'karpenter install demo --rollback': 'Undo what an interrupted installation made',
  },
  options: {
    ...SITE_OPTIONS,
    ...PLAN_OPTIONS,
    ...WAIT_OPTION,
    ...CHANGE_OPTIONS,
    rollback: { type: 'boolean', about: 'Remove what capt made here instead.' },
  },
  async run(args, io) {
    if (args.values['rollback'] === true) return await removeInstallation('karpenter install', args, io)
    const options = (survey: Survey) => planOptionsOf(args, io, survey)
    return (await executePlan('karpenter install', args, io, options)) ? EXIT.fine : EXIT.failed
  },
}
