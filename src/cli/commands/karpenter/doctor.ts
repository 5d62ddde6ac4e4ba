// Looks for the known traps of Karpenter in an existing EKS cluster, and advises what to keep off its nodes.
import { advisePlacement, examine } from '#karpenter'
import { renderFindings } from '#view'
import { type Command, EXIT } from '../../command.ts'
import { atSite, SITE_OPTIONS } from '../../karpenter/karpenter.ts'
import { OUTPUT_OPTION, outputOf, printData, renderOptions } from '../../output.ts'

export const command: Command = {
  name: 'karpenter doctor',
  summary: 'Find known traps of Karpenter in an existing EKS cluster, with a fix for each',
  positionals: 'CLUSTER',
  examples: {
    'karpenter doctor demo': 'Regardless of who installed it',
    'karpenter doctor demo -o json': 'As data',
  },
  options: { ...SITE_OPTIONS, ...OUTPUT_OPTION, output: { ...OUTPUT_OPTION.output, value: 'json|yaml' } },
  /** 0: nothing needs a person. 1: something does. */
  async run(args, io) {
    const output = outputOf(args, ['json', 'yaml'])
    return await atSite('karpenter doctor', args, io, async (site) => {
      const survey = await site.survey()
      const findings = [...examine(survey), ...advisePlacement(survey)]
      const { name, version } = survey.cluster
      const needsPerson = findings.some(({ weight }) => weight === 'person')
      if (output === 'json' || output === 'yaml') await printData({ cluster: name, needsPerson, findings }, output, io)
      else
        io.stdout.write(
          renderFindings([{ name: `EKS cluster ${name}`, fact: `Kubernetes ${version}`, findings }], renderOptions(io)),
        )
      return needsPerson ? EXIT.failed : EXIT.fine
    })
  },
}
