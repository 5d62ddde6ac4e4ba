// What the commands of Karpenter share: their options, the cluster they are about, and a plan as text.
import type { OpenSite } from '#app'
import { karpenterNames } from '#catalog'
import {
  convert,
  describe,
  hasPlaceholder,
  imageForPools,
  isRefused,
  type Options,
  type Plan,
  type Refusal,
  readManifests,
  type Survey,
} from '#karpenter'
import { CaptError, parseDuration } from '#lib'
import { type Branch, renderTree } from '#view'
import { type Arguments, Interrupted, type Io, type Option } from '../command.ts'
import { renderOptions } from '../output.ts'
import { readSource } from '../sources.ts'

/** Of every command about an existing EKS cluster. */
export const SITE_OPTIONS = {
  region: { type: 'string', value: 'REGION', about: 'Region of the cluster; $AWS_REGION otherwise.' },
  kubeconfig: {
    type: 'string',
    value: 'FILE',
    about: 'Reach the Kubernetes API by this file; by the endpoint that EKS names otherwise.',
  },
  context: { type: 'string', value: 'NAME', about: 'Context of the kubeconfig to use.' },
} as const satisfies Record<string, Option>

export const WAIT_OPTION = {
  wait: { type: 'string', value: 'DURATION', default: '15m', about: 'How long to wait for what the cluster does.' },
} as const satisfies Record<string, Option>

export const PLAN_OPTIONS = {
  subnet: { type: 'string', multiple: true, value: 'ID', about: 'Subnet for nodes; may be repeated.' },
  'security-group': { type: 'string', value: 'ID', about: 'The one security group of the nodes.' },
  'node-group': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    about: 'Node group that the controller runs on; may be repeated.',
  },
  version: { type: 'string', value: 'VERSION', about: 'Version of Karpenter; the newest for the cluster otherwise.' },
  namespace: { type: 'string', short: 'n', value: 'NAME', about: 'Namespace of Karpenter.' },
  identity: {
    type: 'string',
    value: 'irsa|pod-identity',
    about: 'How the controller gets its role; what the cluster has otherwise.',
    check: (value) => (['irsa', 'pod-identity'].includes(value) ? undefined : 'one of: irsa, pod-identity'),
  },
  'discovery-tag': {
    type: 'string',
    value: 'KEY',
    about: 'Tag by which Karpenter finds subnets and the security group; karpenter.sh/discovery otherwise.',
  },
  'replace-cluster-autoscaler': {
    type: 'boolean',
    about: 'Once Karpenter works, stop the Cluster Autoscaler and shrink the node groups; uninstall undoes it.',
  },
  'with-flux': {
    type: 'boolean',
    about: 'Bring Flux into a cluster that has none, to install the chart; uninstall removes it unless others use it.',
  },
  ami: {
    type: 'string',
    value: 'ALIAS',
    about: 'Image of the nodes, for example al2023@v20261102; what EKS recommends today otherwise.',
  },
  provisioner: {
    type: 'string',
    value: 'FILE',
    about: 'Make the pools of this file, of any era, instead of the default pool.',
  },
} as const satisfies Record<string, Option>

const textOf = ({ values }: Arguments, name: string): string | undefined =>
  typeof values[name] === 'string' ? (values[name] as string) : undefined

export function clusterOf({ positionals: [name] }: Arguments, command: string): string {
  if (name !== undefined) return name
  throw new CaptError('CAPT_USAGE', `${command} needs the name of an EKS cluster`, { hint: `capt ${command} demo` })
}

/** Opens the cluster, and closes it when the work has ended. */
export async function atSite(
  command: string,
  args: Arguments,
  io: Io,
  work: (site: OpenSite) => Promise<number>,
): Promise<number> {
  const { openSite } = await import('#app')
  const site = await openSite({
    cluster: clusterOf(args, command),
    region: textOf(args, 'region'),
    kubeconfig: textOf(args, 'kubeconfig'),
    context: textOf(args, 'context'),
    env: io.env,
    clock: io.clock,
    signal: io.signal,
    waitMs: parseDuration(textOf(args, 'wait') ?? '15m'),
    report: (text) => io.stderr.write(`${text}\n`),
  })
  try {
    return await work(site)
  } finally {
    await site.close()
  }
}

/** Runs what the same command continues when it is interrupted. */
export async function resumable(io: Io, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw io.signal.aborted ? new Interrupted('run the same command again to continue') : error
  }
}

/** Reads the pools of a file last: they boot the image that the survey found. */
export async function planOptionsOf(args: Arguments, io: Io, survey: Survey): Promise<Options> {
  const image = textOf(args, 'ami')
  const given = {
    subnets: args.values['subnet'] as readonly string[] | undefined,
    securityGroup: textOf(args, 'security-group'),
    nodeGroups: args.values['node-group'] as readonly string[] | undefined,
    version: textOf(args, 'version'),
    namespace: textOf(args, 'namespace'),
    identity: textOf(args, 'identity') as Options['identity'],
    discoveryTag: textOf(args, 'discovery-tag'),
    replaceAutoscaler: args.values['replace-cluster-autoscaler'] === true ? true : undefined,
    withFlux: args.values['with-flux'] === true ? true : undefined,
    image,
    pools: await readPools(
      textOf(args, 'provisioner'),
      survey,
      imageForPools(survey, { ...(image ? { image } : {}) }),
      io,
    ),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

async function readPools(
  file: string | undefined,
  { cluster: { name } }: Survey,
  amiAlias: string | undefined,
  io: Io,
): Promise<Options['pools']> {
  if (file === undefined) return undefined
  const { instanceProfile } = karpenterNames(name)
  const { objects, findings } = convert(readManifests(await readSource(file, io)), {
    instanceProfile,
    amiAlias,
    variables: { CLUSTER_NAME: name },
  })
  const hint = `capt karpenter convert ${file} lists everything; nothing was changed`
  const refused = findings.find(isRefused)
  if (refused)
    throw new CaptError(refused.code, `${refused.object} ${refused.path}: ${refused.message}`, { at: file, hint })
  for (const { level, object, path, message } of findings)
    if (level !== 'note') io.stderr.write(`${level === 'person' ? 'to do' : level}  ${object} ${path}: ${message}\n`)
  if (hasPlaceholder(objects))
    throw new CaptError('CAPT_CONVERT_PLACEHOLDER', 'the file leaves something open, named above', { at: file, hint })
  return objects
}

const STATES = { create: 'working', change: 'waiting', keep: 'ready' } as const

/** What was decided, then every step, as a tree. */
export function renderPlan({ cluster, choices, steps, handOver }: Plan, io: Io): string {
  const branch = (name: string, fact: string, more: Partial<Branch> = {}): Branch => ({
    ...{ name, word: '', fact, state: 'ready', children: [] },
    ...more,
  })
  const decided = (Object.keys(DECIDED) as (keyof typeof DECIDED)[]).map((name) => {
    const { value, reason } = choices[name]
    return branch(DECIDED[name], `${[value].flat().join(', ') || 'any'}: ${reason}`)
  })
  const count = (action: keyof typeof STATES) => steps.filter((step) => step.do === action).length
  const toLeaf = ({ resource, reason, do: action }: Plan['steps'][number]) =>
    branch(describe(resource), `${resource.about}; ${reason}`, { word: action, state: STATES[action] })
  const counts = `${count('create')} to create, ${count('change')} to change, ${count('keep')} to keep`
  const children = [
    branch('decided', '', { children: decided }),
    branch('steps', counts, { children: steps.map(toLeaf) }),
    ...(handOver.length === 0 ? [] : [branch('once it works', '', { children: handOver.map(toLeaf) })]),
  ]
  const root = branch(`Karpenter on ${cluster}`, '', { children })
  return `${renderTree(root, renderOptions(io))}${choices.notes.map((note) => `note: ${note}\n`).join('')}`
}

/** In the order in which they are shown. */
const DECIDED = {
  version: 'version',
  namespace: 'namespace',
  identity: 'identity',
  access: 'nodes join by',
  subnets: 'subnets',
  securityGroup: 'security group',
  placement: 'node groups',
  installer: 'installed by',
  image: 'image',
} as const

/** All of them at once, so that a person mends them in one go. */
export function refuse(refusals: readonly Refusal[], io: Io): void {
  for (const { code, field, message, hint } of refusals)
    io.stderr.write(`refused: ${field}: ${message}  ${code}\n  hint  ${hint}\n`)
  io.stderr.write('nothing was changed\n')
}
