// Brings Karpenter manifests and chart values of older versions to the current APIs. Objects go to standard output,
// everything a person should know to standard error; when anything is refused nothing is printed at all.
import { parse } from 'yaml'
import { toYaml, toYamlDocuments } from '#api'
import { byNewest, matrix, toVersion } from '#catalog'
import {
  type ConvertOptions,
  convert,
  type Finding,
  isRefused,
  type MigratedValues,
  migrateValues,
  needsPerson,
  readManifests,
  type Source,
} from '#karpenter'
import { CaptError, isPlainObject } from '#lib'
import { type Arguments, type Command, EXIT, type Io } from '../../command.ts'
import { outputOf, printData } from '../../output.ts'
import { readSource, readSources } from '../../sources.ts'

export const command: Command = {
  name: 'karpenter convert',
  summary: 'Convert Provisioners and v1beta1 pools to Karpenter v1',
  positionals: '[FILE | FOLDER | -]...',
  examples: {
    'karpenter convert provisioner.yaml --role KarpenterNodeRole-demo > pools.yaml':
      'A Provisioner with its AWSNodeTemplate',
    'karpenter convert manifests/ --role KarpenterNodeRole-demo --set CLUSTER_NAME=demo':
      'A folder whose files use ${CLUSTER_NAME}',
    'karpenter convert --values values.yaml': 'Values of an old chart',
  },
  options: {
    role: {
      type: 'string',
      value: 'NAME',
      about: 'Node role of every EC2NodeClass; a placeholder is left without it.',
    },
    'instance-profile': { type: 'string', value: 'NAME', about: 'Instance profile to use instead of a role.' },
    ami: { type: 'string', value: 'ALIAS', about: 'Image alias to pin, for example al2023@v20260801.' },
    set: {
      type: 'string',
      multiple: true,
      value: 'NAME=VALUE',
      about: 'Value for ${NAME} in the manifests; may be repeated.',
    },
    values: {
      type: 'string',
      value: 'FILE',
      about: 'Chart values to migrate; beside manifests, their global tags and profile are used.',
    },
    'karpenter-version': {
      type: 'string',
      value: 'VERSION',
      about: 'Chart version the values are for; the newest otherwise.',
    },
    'ignore-other': { type: 'boolean', about: 'Leave manifests of other projects out instead of refusing them.' },
    output: { type: 'string', short: 'o', value: 'yaml|json', about: 'yaml, or json with objects and findings.' },
  },
  async run(args, io) {
    const output = outputOf(args, ['yaml', 'json']) === 'json' ? 'json' : 'yaml'
    const options = optionsOf(args)
    const values = await readValues(args, io)
    if (values && args.positionals.length === 0)
      return await finish(values.findings, output === 'json' ? { values: values.values } : values.values, output, io)
    const sources = await readSources(args.positionals, io)
    const manifests = sources.flatMap((source: Source) => readManifests(source))
    if (manifests.length === 0)
      throw new CaptError('CAPT_MANIFEST_INVALID', 'there is no manifest in what was given', {
        hint: 'give files, folders, or manifests on standard input',
      })
    const { objects, findings } = convert(manifests, { ...values?.classes, ...options })
    return await finish(findings, output === 'json' ? { objects } : objects, output, io)
  },
}

function optionsOf({ values }: Arguments): ConvertOptions {
  const text = (name: string) => (typeof values[name] === 'string' ? (values[name] as string) : undefined)
  const given = { role: text('role'), instanceProfile: text('instance-profile'), amiAlias: text('ami') }
  if (given.role && given.instanceProfile)
    throw new CaptError('CAPT_USAGE', '--role and --instance-profile exclude each other', {
      hint: 'a role is preferred: Karpenter makes the profile',
    })
  const set = (values['set'] ?? []) as readonly string[]
  const variables = Object.fromEntries(
    set.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1)
        throw new CaptError('CAPT_USAGE', `--set ${pair} is not NAME=VALUE`, {
          hint: 'for example --set CLUSTER_NAME=demo',
        })
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { ...chosen, variables, ignoreOther: values['ignore-other'] === true }
}

async function readValues(args: Arguments, io: Io): Promise<MigratedValues | undefined> {
  const file = args.values['values']
  if (typeof file !== 'string') return undefined
  const asked = args.values['karpenter-version']
  const newest = matrix.flatMap((row) => (row.component === 'karpenter' ? [row.newest] : [])).sort(byNewest)[0]!
  const version = typeof asked === 'string' ? asked : newest
  toVersion(version, '--karpenter-version')
  const { name, text } = await readSource(file, io)
  let values: unknown
  try {
    values = parse(text)
  } catch (error) {
    throw new CaptError('CAPT_MANIFEST_INVALID', `${name} is not YAML`, {
      cause: error,
      hint: 'give the values file of the release: helm get values karpenter',
    })
  }
  if (!isPlainObject(values))
    throw new CaptError('CAPT_MANIFEST_INVALID', `${name} holds no chart values`, {
      hint: 'give the values file of the release: helm get values karpenter',
    })
  return migrateValues(values, version, name)
}

async function finish(findings: readonly Finding[], data: unknown, output: 'yaml' | 'json', io: Io): Promise<number> {
  const refused = findings.some(isRefused)
  io.stderr.write(renderFindings(findings))
  if (output === 'json') await printData({ ...(refused ? {} : (data as object)), findings }, 'json', io)
  else if (!refused) io.stdout.write(Array.isArray(data) ? toYamlDocuments(data) : toYaml(data))
  if (refused) {
    io.stderr.write('nothing was written\n')
    return EXIT.failed
  }
  return findings.some(needsPerson) ? EXIT.notReady : EXIT.fine
}

const WORDS = { refused: 'refused', person: 'to do', changed: 'changed', note: 'note' } as const
const ORDER = ['refused', 'person', 'changed', 'note'] as const

function renderFindings(findings: readonly Finding[]): string {
  const sorted = [...findings].sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level))
  const lines = sorted.map(({ level, object, path, message, hint, code }) => {
    const where = `${WORDS[level].padEnd(8)} ${object} ${path}: ${message}  ${code}\n`
    return hint ? `${where}         ${hint}\n` : where
  })
  const todo = findings.filter(needsPerson).length
  return todo === 0
    ? lines.join('')
    : `${lines.join('')}${todo} of these ${todo === 1 ? 'needs' : 'need'} a person (capt explain CODE)\n`
}
