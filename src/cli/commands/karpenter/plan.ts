// Shows what an installation of Karpenter in an existing EKS cluster would create, change and keep. Changes nothing.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { guideFiles, planInstall, terraformVariables } from '#karpenter'
import { CaptError } from '#lib'
import { type Command, EXIT } from '../../command.ts'
import { atSite, PLAN_OPTIONS, planOptionsOf, refuse, renderPlan, SITE_OPTIONS } from '../../karpenter/karpenter.ts'
import { printData } from '../../output.ts'

const OUTPUTS = ['json', 'yaml', 'files', 'terraform']

export const command: Command = {
  name: 'karpenter plan',
  summary: 'Show what installing Karpenter in an existing EKS cluster would do',
  positionals: 'CLUSTER',
  examples: {
    'karpenter plan demo': 'What would be created, changed and kept, and why',
    'karpenter plan demo --output files --folder demo': 'The policies and manifests, to apply by hand',
    'karpenter plan demo --output terraform': 'Variables for modules/karpenter',
  },
  options: {
    ...SITE_OPTIONS,
    ...PLAN_OPTIONS,
    output: {
      type: 'string',
      short: 'o',
      value: 'json|yaml|files|terraform',
      about: 'Print data, or write files.',
      check: (value) => (OUTPUTS.includes(value) ? undefined : `one of: ${OUTPUTS.join(', ')}`),
    },
    folder: { type: 'string', value: 'FOLDER', about: 'Where files are written; the current folder otherwise.' },
  },
  async run(args, io) {
    const { output, folder } = args.values
    if (folder !== undefined && output !== 'files' && output !== 'terraform')
      throw new CaptError('CAPT_USAGE', '--folder is for --output files and --output terraform', {
        hint: 'add --output files, or leave --folder out',
      })
    return await atSite('karpenter plan', args, io, async (site) => {
      const survey = await site.survey()
      const options = await planOptionsOf(args, io, survey)
      const plan = planInstall(survey, options)
      if (output === 'json' || output === 'yaml') await printData(plan, output, io)
      if (plan.refusals.length > 0) {
        refuse(plan.refusals, io)
        return EXIT.failed
      }
      if (output === undefined) io.stdout.write(renderPlan(plan, io))
      const files =
        output === 'files'
          ? guideFiles(survey, plan, options)
          : output === 'terraform'
            ? terraformVariables(survey, plan, options)
            : {}
      const into = resolve(io.cwd, String(folder ?? '.'))
      if (Object.keys(files).length > 0) mkdirSync(into, { recursive: true })
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(join(into, name), text)
        io.stdout.write(`${join(String(folder ?? '.'), name)}\n`)
      }
      return EXIT.fine
    })
  },
}
