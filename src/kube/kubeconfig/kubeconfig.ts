// From a kubeconfig, a text or the pod we run in to the access of one server, or to one sentence about what in it
// cannot work. Text from a Secret is data only: it may neither start programs nor read files of this machine.
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CaptError, type Clock, systemClock } from '#lib'
import { fixedCredentials, type ServerAccess } from '../client/access.ts'
import { fileCredentials, rereadCredentials } from '../client/credentials.ts'
import { type Entry, invalid, type Kubeconfig, kubeconfigPaths, parseKubeconfig, readKubeconfigFiles } from './file.ts'
import { flagOf, type Part, pemOf, readPem, textOf, unsupported } from './part.ts'
import { toCredentials, type UserWorld } from './user.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface AccessOptions {
  /** A kubeconfig file; otherwise those of KUBECONFIG, otherwise the one in the home folder. */
  readonly path?: string
  readonly context?: string
  readonly env?: Environment
  readonly clock?: Clock
}

export async function loadKubeconfig(options: AccessOptions = {}): Promise<ServerAccess> {
  const { env = process.env, clock = systemClock } = options
  const read = async () => {
    const config = await readKubeconfigFiles(kubeconfigPaths(env, options.path))
    return await toAccess(config, options.context, { env, clock }, true)
  }
  const access = await read()
  return { ...access, credentials: rereadCredentials(access.credentials, async () => (await read()).credentials) }
}

interface TextOptions {
  /** Where the text was found, for messages: `Secret default/demo-kubeconfig`. */
  readonly origin: string
  readonly context?: string
  readonly clock?: Clock
}

export async function readKubeconfigText(text: string, options: TextOptions): Promise<ServerAccess> {
  const config = await parseKubeconfig(text, options.origin)
  return toAccess(config, options.context, { env: {}, clock: options.clock ?? systemClock }, false)
}

interface InClusterOptions {
  readonly env?: Environment
  readonly clock?: Clock
  /** Where the pod finds its service account. */
  readonly folder?: string
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

function isInCluster(env: Environment = process.env): boolean {
  return Boolean(env['KUBERNETES_SERVICE_HOST'] && env['KUBERNETES_SERVICE_PORT'])
}

export async function inClusterAccess(options: InClusterOptions = {}): Promise<ServerAccess> {
  const { env = process.env, clock = systemClock, folder = SERVICE_ACCOUNT } = options
  const host = env['KUBERNETES_SERVICE_HOST']
  const port = env['KUBERNETES_SERVICE_PORT']
  if (!host || !port) {
    throw new CaptError('CAPT_KUBECONFIG_NOT_FOUND', 'KUBERNETES_SERVICE_HOST is not set: this is not a pod', {
      hint: 'pass --kubeconfig, or run in a cluster with a service account',
    })
  }
  const token = join(folder, 'token')
  const credentials = fileCredentials({ token }, {}, clock)
  await credentials.current()
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => undefined)
  const ca = await read('ca.crt')
  const namespace = (await read('namespace'))?.trim()
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(ca === undefined ? {} : { ca }),
    namespace: namespace || 'default',
    credentials,
    origin: `the service account in ${folder}`,
  }
}

/** Whether the service account of the pod is used: in a pod, when nothing names a kubeconfig. */
export function isServiceAccountChosen({ env = process.env, path, context }: AccessOptions): boolean {
  const isChosen = path !== undefined || context !== undefined || Boolean(env['KUBECONFIG'])
  return !isChosen && isInCluster(env)
}

/** What a program without further word should use: the file it was given, KUBECONFIG, its pod, the home folder. */
export async function findAccess(options: AccessOptions = {}): Promise<ServerAccess> {
  const { env = process.env, clock } = options
  return isServiceAccountChosen(options)
    ? inClusterAccess({ env, ...(clock ? { clock } : {}) })
    : loadKubeconfig(options)
}

async function toAccess(
  config: Kubeconfig,
  wanted: string | undefined,
  world: UserWorld,
  isTrusted: boolean,
): Promise<ServerAccess> {
  const name = wanted ?? config.currentContext
  const choices = `choose one of: ${[...config.contexts.keys()].sort().join(', ') || '(there are none)'}`
  if (name === undefined) throw invalid('current-context: is missing', config.origin, choices)
  const entry = config.contexts.get(name)
  if (!entry) throw invalid(`contexts: there is no context ${name}`, config.origin, choices)

  const context: Part = { ...entry, path: `contexts[${name}].context`, isTrusted }
  const cluster = refer(context, 'cluster', config.clusters)
  if (!cluster) throw invalid(`${context.path}.cluster: is missing`, context.file, 'name one of the clusters')
  const user = refer(context, 'user', config.users)
  const server = toServer(cluster)
  return {
    server,
    ...(await toTrust(cluster)),
    namespace: textOf(context, 'namespace') ?? 'default',
    credentials: user ? toCredentials(user, cluster, world) : fixedCredentials({}),
    origin: `${config.origin}, context ${name}`,
  }
}

function refer(context: Part, field: 'cluster' | 'user', entries: ReadonlyMap<string, Entry>): Part | undefined {
  const name = textOf(context, field)
  if (name === undefined) return undefined
  const entry = entries.get(name)
  if (entry) return { ...entry, path: `${field}s[${name}].${field}`, isTrusted: context.isTrusted }
  const choices = [...entries.keys()].sort().join(', ') || '(there are none)'
  throw invalid(`${context.path}.${field}: there is no ${field} ${name}`, context.file, `choose one of: ${choices}`)
}

function toServer(cluster: Part): string {
  const text = textOf(cluster, 'server')
  const path = `${cluster.path}.server`
  const hint = 'write it like https://host:6443'
  if (textOf(cluster, 'proxy-url'))
    throw unsupported(cluster, 'proxy-url', 'use an address that is reachable without a proxy')
  if (text === undefined) throw invalid(`${path}: is missing`, cluster.file, hint)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid(`${path}: is not an https or http address`, cluster.file, hint)
  if (url.username || url.password)
    throw invalid(`${path}: carries a password`, cluster.file, 'use users[].user instead')
  if (url.search || url.hash) throw invalid(`${path}: has a query`, cluster.file, hint)
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

async function toTrust(cluster: Part): Promise<Pick<ServerAccess, 'ca' | 'serverName' | 'insecure'>> {
  const isInline = textOf(cluster, 'certificate-authority-data') !== undefined
  const field = isInline ? 'certificate-authority-data' : 'certificate-authority'
  const ca = isInline ? pemOf(cluster, field) : await readPem(cluster, field)
  const insecure = flagOf(cluster, 'insecure-skip-tls-verify')
  const serverName = textOf(cluster, 'tls-server-name')
  if (ca !== undefined && insecure) {
    const message = `${cluster.path}: ${field} and insecure-skip-tls-verify are both set`
    throw invalid(message, cluster.file, 'keep one of them: the authority is the safe one')
  }
  if (ca !== undefined) checkCertificate(ca, cluster, field)
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(insecure ? { insecure } : {}),
  }
}

function checkCertificate(pem: string, cluster: Part, field: string): void {
  try {
    new X509Certificate(pem)
  } catch (cause) {
    throw invalid(
      `${cluster.path}.${field}: is not a certificate`,
      cluster.file,
      'copy the certificate authority again',
      cause,
    )
  }
}
