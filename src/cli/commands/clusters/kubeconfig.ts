// The kubeconfig of a cluster, printed or merged into another: the one for people, which gets its own tokens, or the one
// with a token inside.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import {
  type AnyObject,
  clusterKind,
  kubeconfigSecretName,
  notFound,
  type Secret,
  SecretKind,
  toYaml,
  userKubeconfigSecretName,
} from '#api'
import { type Connected, servedKind } from '#kube'
import { CaptError, formatDuration, isPlainObject, messageOf } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { type Kubeconfig, mergeKubeconfig } from '../../objects/merge-kubeconfig.ts'

const EXPIRES_ANNOTATION = 'capt.appthrust.com/expires-at'

export const command: Command = {
  name: 'kubeconfig',
  summary: 'Print a kubeconfig for a cluster, or merge it into yours',
  positionals: 'CLUSTER',
  examples: {
    'kubeconfig demo > demo.yaml': 'For people: asks the AWS command line for a token when it is used',
    'kubeconfig demo --merge': 'Add it to your own: then kubectl --context demo',
    'kubeconfig demo --token > demo.yaml': 'With a token inside: needs nothing, ends within minutes',
  },
  options: {
    ...CONNECTION_OPTIONS,
    token: { type: 'boolean', about: 'The one that Cluster API uses, with a token inside.' },
    merge: { type: 'boolean', about: 'Add it to a kubeconfig instead of printing it; the current context stays.' },
    into: { type: 'string', value: 'FILE', about: 'Where --merge writes; $KUBECONFIG or ~/.kube/config otherwise.' },
    name: { type: 'string', value: 'NAME', about: 'Name of the context; that of the cluster otherwise.' },
  },
  async run(args, io) {
    const cluster = args.positionals[0]?.replace(/^clusters?\//i, '')
    if (cluster === undefined)
      throw new CaptError('CAPT_USAGE', 'kubeconfig needs the name of a cluster', { hint: 'capt kubeconfig demo' })
    return withConnection(args, io, async (connected) => {
      const isToken = args.values['token'] === true
      const name = isToken ? kubeconfigSecretName(cluster) : userKubeconfigSecretName(cluster)
      const secret = await connected.objects.get<Secret>(SecretKind, { namespace: connected.namespace, name })
      const value = secret?.data?.['value']
      if (value === undefined) await requireCluster(cluster, connected)
      if (value === undefined)
        throw new CaptError(
          'CAPT_KUBECONFIG_MISSING',
          `Cluster ${connected.namespace}/${cluster} has no kubeconfig yet`,
          {
            hint: `capt describe cluster ${cluster} says what it waits for`,
          },
        )
      const left = isToken ? millisecondsLeft(secret!, io.clock.now()) : undefined
      if (left !== undefined) io.stderr.write(`The token works for another ${formatDuration(left)}\n`)
      const text = Buffer.from(value, 'base64').toString('utf8')
      if (args.values['merge'] === true) return merge(parse(text) as Kubeconfig, cluster, args, io)
      const named = nameOf(args)
      const found = parse(text) as Kubeconfig
      const { 'current-context': _, ...rest } = found
      io.stdout.write(toYaml(named === undefined ? found : mergeKubeconfig({}, rest, named)))
      return EXIT.fine
    })
  },
}

/** A cluster that does not exist is not one that has no kubeconfig yet. */
async function requireCluster(name: string, connected: Connected): Promise<void> {
  const kind = await servedKind(connected, clusterKind)
  const key = { namespace: connected.namespace, name }
  if (!(await connected.objects.get(kind, key))) throw notFound(kind, key)
}

function millisecondsLeft(secret: AnyObject, nowMs: number): number | undefined {
  const expires = secret.metadata.annotations?.[EXPIRES_ANNOTATION]
  return expires === undefined ? undefined : Math.max(0, Date.parse(expires) - nowMs)
}

const nameOf = ({ values }: Arguments): string | undefined =>
  typeof values['name'] === 'string' && values['name'] !== '' ? values['name'] : undefined

/** Renamed into place: a reader sees the old file or the new one. */
function merge(added: Kubeconfig, cluster: string, args: Arguments, io: Io): number {
  const name = nameOf(args) ?? cluster
  const file = fileToMerge(args, io)
  const merged = mergeKubeconfig(readExisting(file), added, name)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, toYaml(merged), { mode: 0o600 })
  renameSync(temporary, file)
  const isCurrent = merged['current-context'] === name
  io.stdout.write(`Merged ${name} into ${file}: kubectl ${isCurrent ? '' : `--context ${name} `}get nodes\n`)
  return EXIT.fine
}

/** As kubectl config does: the first file of the list that exists, else the last one. */
function fileToMerge({ values }: Arguments, io: Io): string {
  if (typeof values['into'] === 'string') return resolve(io.cwd, values['into'])
  const files = (io.env['KUBECONFIG'] ?? '').split(':').filter((file) => file !== '')
  const chosen = files.find((file) => existsSync(resolve(io.cwd, file))) ?? files.at(-1)
  if (chosen !== undefined) return resolve(io.cwd, chosen)
  return join(io.env['HOME'] ?? io.cwd, '.kube', 'config')
}

function readExisting(file: string): Kubeconfig {
  if (!existsSync(file)) return {}
  try {
    const found: unknown = parse(readFileSync(file, 'utf8'))
    if (found === null) return {}
    if (isPlainObject(found)) return found
    throw new Error('it holds no object')
  } catch (cause) {
    throw new CaptError('CAPT_KUBECONFIG_INVALID', `${file} cannot be merged into: ${messageOf(cause)}`, {
      hint: 'mend the file, or name another one: --into FILE',
      cause,
    })
  }
}
