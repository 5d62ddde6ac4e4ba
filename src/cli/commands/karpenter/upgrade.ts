// Brings an installation of capt's to a newer Karpenter in lockstep: permissions, definitions and chart, then the image.
import type { Survey } from '#karpenter'
import { type Command, EXIT } from '../../command.ts'
import { CHANGE_OPTIONS, executePlan } from '../../karpenter/execute.ts'
import { clusterOf, PLAN_OPTIONS, planOptionsOf, SITE_OPTIONS, WAIT_OPTION } from '../../karpenter/karpenter.ts'

export const command: Command = {
  name: 'karpenter upgrade',
  summary: 'Upgrade Karpenter in an existing EKS cluster: policy, CRDs, chart and image together',
  positionals: 'CLUSTER',
  examples: {
    'karpenter upgrade demo': 'To the newest version that the cluster supports',
    'karpenter upgrade demo --version 1.14.1 --dry-run': 'Show what a version would change',
    'karpenter upgrade demo --ami al2023@v20261102': 'With an image of your choice',
  },
  options: { ...SITE_OPTIONS, ...WAIT_OPTION, ...CHANGE_OPTIONS, version: PLAN_OPTIONS.version, ami: PLAN_OPTIONS.ami },
  async run(args, io) {
    clusterOf(args, 'karpenter upgrade')
    const options = async (survey: Survey) => ({ ...(await planOptionsOf(args, io, survey)), isUpgrade: true })
    return (await executePlan('karpenter upgrade', args, io, options)) ? EXIT.fine : EXIT.failed
  },
}
