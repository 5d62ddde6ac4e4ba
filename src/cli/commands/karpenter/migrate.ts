// Hands a Karpenter that Terraform installed by helm_release over to capt's delivery: Terraform forgets the release without touching it,
// its IAM stays, and helm-controller adopts the release by its name and namespace.
import { CaptError } from '#lib'
import { CONNECTION_OPTIONS, type Command } from '../../command.ts'
import { migrateModule } from '../../karpenter/migrate-module.ts'
import { migrateTemplate } from '../../karpenter/migrate-template.ts'
import { YES_OPTION } from '../../output.ts'

export const command: Command = {
  name: 'karpenter migrate',
  summary: 'Hand a helm_release of Karpenter over from Terraform to add-on delivery, without uninstalling it',
  examples: {
    'karpenter migrate -f template.yaml --dry-run':
      'What Terraform would forget and keep, by a plan upon the state of every apply',
    'karpenter migrate -f template.yaml --out template.yaml': 'Write the new template',
    'karpenter migrate -f template.yaml --cluster demo --out template.yaml':
      'Also apply it, wait until Terraform has forgotten the release, and label the cluster',
    'karpenter migrate --module infra/eks': 'A root module that you run yourself',
  },
  options: {
    ...CONNECTION_OPTIONS,
    filename: { type: 'string', short: 'f', value: 'FILE', about: 'File with a WorkspaceTemplate with inline HCL.' },
    module: { type: 'string', value: 'FOLDER', about: 'Root module instead; terraform init must have been run in it.' },
    release: {
      type: 'string',
      multiple: true,
      value: 'ADDRESS',
      about: 'Resource that is a release of Karpenter, where capt does not recognise it; may be repeated.',
    },
    out: { type: 'string', value: 'FILE', about: 'Where the new manifest is written; standard output otherwise.' },
    cluster: {
      type: 'string',
      multiple: true,
      value: 'NAME',
      about: 'Cluster that gets the release delivered once Terraform has forgotten it; may be repeated.',
    },
    wait: { type: 'string', value: 'DURATION', default: '15m', about: 'How long to wait for plans and runs.' },
    'dry-run': { type: 'boolean', about: 'Show what would be done and change nothing.' },
    ...YES_OPTION,
  },
  async run(args, io) {
    const { filename, module, out } = args.values
    if ((filename === undefined) === (module === undefined))
      throw new CaptError('CAPT_USAGE', 'karpenter migrate needs a file or a module', {
        hint: 'capt karpenter migrate -f template.yaml, or --module FOLDER',
      })
    if (module !== undefined && out !== undefined)
      throw new CaptError('CAPT_USAGE', '--out is for a manifest; the files of a module are changed in place', {
        hint: 'leave --out out; --dry-run changes nothing',
      })
    return filename === undefined
      ? await migrateModule(String(module), args, io)
      : await migrateTemplate(String(filename), args, io)
  },
}
