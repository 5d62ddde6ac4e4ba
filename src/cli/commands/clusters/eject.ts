// Hands the workspaces of a cluster to plain Terraform: one root module each, with variables, state and commands. Nothing is
// destroyed, and nothing changes in the API server.
import { resolve } from 'node:path'
import { clusterKind, type WorkspaceTemplateApply } from '#api'
import {
  EJECT_BACKENDS,
  type EjectBackend,
  isUnchanged,
  type RootModule,
  readHeldWorkspace,
  refuseTaken,
  toRootModule,
  writeFolders,
} from '#engine'
import { type Connected, servedKind } from '#kube'
import { CaptError } from '#lib'
import { readClusterObjects } from '#view'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  EXIT,
  type Io,
  type Option,
  withConnection,
} from '../../command.ts'

const BACKEND_OPTION: Option = {
  type: 'string',
  value: EJECT_BACKENDS.join('|'),
  default: 'local',
  about: 'Where Terraform finds the state: a copy in the folder, or the Secrets that hold it now.',
  check: (value) => (toBackend(value) ? undefined : `one of: ${EJECT_BACKENDS.join(', ')}`),
}

export const command: Command = {
  name: 'eject',
  summary: 'Write root modules, state and backend of a cluster for plain Terraform',
  positionals: 'CLUSTER',
  examples: {
    'eject demo --to ./demo-terraform': 'One folder per workspace, each with its state; they hold secrets',
    'eject demo --to ./demo-terraform --backend kubernetes': 'Use the state where capt keeps it',
  },
  options: {
    ...CONNECTION_OPTIONS,
    to: { type: 'string', value: 'DIR', about: 'Folder to write to; empty or not there yet.' },
    backend: BACKEND_OPTION,
    'dry-run': { type: 'boolean', about: 'Check everything, list the folders and write nothing.' },
  },
  async run(args, io) {
    const [word] = args.positionals
    const cluster = word?.replace(/^clusters?\//i, '')
    const { to } = args.values
    if (!cluster || typeof to !== 'string')
      throw new CaptError('CAPT_USAGE', 'eject needs a cluster and --to', {
        hint: 'capt eject demo --to ./demo-terraform',
      })
    const folder = resolve(io.cwd, to)
    refuseTaken(folder)
    return withConnection(args, io, (connected) => eject({ connected, cluster, folder, args, io }))
  },
}

const toBackend = (value: unknown): EjectBackend | undefined => EJECT_BACKENDS.find((one) => one === value)

interface Task {
  readonly connected: Connected
  readonly cluster: string
  readonly folder: string
  readonly args: Arguments
  readonly io: Io
}

async function eject({ connected, cluster, folder, args, io }: Task): Promise<number> {
  const backend = toBackend(args.values['backend'])!
  const modules = await readModules(connected, cluster, backend)
  for (const { notes } of modules.values()) for (const note of notes) io.stderr.write(`note: ${note}\n`)
  if (args.values['dry-run'] === true) {
    for (const name of modules.keys()) io.stdout.write(`${name}\n`)
    return EXIT.fine
  }
  writeFolders(folder, modules, pageOf(cluster, modules, backend))
  for (const [name, { root }] of modules)
    io.stdout.write(`${[args.values['to'], name, root].filter(Boolean).join('/')}\n`)
  io.stderr.write(
    `These folders hold secrets. capt still manages ${cluster}: ${String(args.values['to'])}/README.md says how to stop that\n`,
  )
  return EXIT.fine
}

/** All is read before anything is written, and read again in case a run began in between. */
async function readModules(
  connected: Connected,
  cluster: string,
  backend: EjectBackend,
): Promise<ReadonlyMap<string, RootModule>> {
  const { objects, namespace } = connected
  const kind = await servedKind(connected, clusterKind)
  const { applies } = await readClusterObjects(kind, cluster, connected)
  const own = applies.filter(({ spec }) => spec.speculativeFor === undefined).sort(byAge)
  if (own.length === 0)
    throw new CaptError('CAPT_EJECT_REFUSED', `Cluster ${namespace}/${cluster} has no workspace`, {
      hint: `capt describe cluster ${cluster} shows what it waits for`,
    })
  const held = []
  for (const apply of own) held.push(await readHeldWorkspace(objects, apply, apply.status?.state?.resources ?? 0))
  for (const one of held)
    if (!(await isUnchanged(objects, one)))
      throw new CaptError('CAPT_EJECT_REFUSED', `A run of ${one.key.name} began while it was read`, {
        hint: 'run the command again when it has ended; nothing was written',
      })
  return new Map(held.map((one) => [one.key.name, toRootModule(one, backend)]))
}

/** In the order in which they were made: each uses what those before it made. */
function byAge(a: WorkspaceTemplateApply, b: WorkspaceTemplateApply): number {
  const [first, second] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`) as [
    string,
    string,
  ]
  return first < second ? -1 : 1
}

function pageOf(cluster: string, modules: ReadonlyMap<string, RootModule>, backend: EjectBackend): string {
  const folders = [...modules].map(([name, { root }], i) => `${i + 1}. \`${name}${root === '' ? '' : `/${root}`}\``)
  const notes = [...modules.values()].flatMap((module) => module.notes.map((note) => `- ${note}`))
  return [
    `# Terraform of cluster ${cluster}`,
    '',
    'One root module per workspace, in the order in which they were made. Each has a page with its commands. What one gives to',
    'the next (ids of subnets, names) is in the variables as a value. Destroy in reverse order, and the workloads first: load',
    'balancers, volumes and nodes of Karpenter are in no state.',
    '',
    ...folders,
    ...(notes.length > 0 ? ['', ...notes] : []),
    '',
    '## Who manages the cluster',
    '',
    'capt does, until you stop it: two that change the same infrastructure from two states undo the work of each other. Before',
    'the first `terraform apply` here, pause the Cluster; capt then starts no run, and destroys nothing:',
    '',
    '```sh',
    `kubectl patch cluster ${cluster} --type merge -p '{"spec":{"paused":true}}'`,
    '```',
    '',
    backend === 'local'
      ? 'The state in these folders is a copy. Once you have applied something here, the state that capt holds is out of date: do\nnot unpause the Cluster then.'
      : 'The state is the one that capt uses, and so is its lock. Do not delete the Cluster: its state goes with it.',
    '',
  ].join('\n')
}
