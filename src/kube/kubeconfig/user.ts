// Who we are, from one user of a kubeconfig: a token, a certificate, files that are read again, or a program.
import { createSecureContext } from 'node:tls'
import type { Clock } from '#lib'
import { type Credentials, fixedCredentials, type Identity } from '../client/access.ts'
import { fileCredentials } from '../client/credentials.ts'
import { type ExecPlugin, execCredentials } from '../client/exec-credentials.ts'
import { type Fields, invalid } from './file.ts'
import { fileOf, flagOf, listOf, mapOf, type Part, pemOf, textOf, unsupported, untrusted } from './part.ts'

export interface UserWorld {
  readonly clock: Clock
  readonly env: Readonly<Record<string, string | undefined>>
}

const EXEC_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']

export function toCredentials(user: Part, cluster: Part, world: UserWorld): Credentials {
  refuseOldWays(user)
  const headers = toImpersonation(user)
  const token = textOf(user, 'token')
  const certificate = pemOf(user, 'client-certificate-data')
  const key = pemOf(user, 'client-key-data')
  const files = {
    token: fileOf(user, 'tokenFile'),
    certificate: certificate ? undefined : fileOf(user, 'client-certificate'),
    key: key ? undefined : fileOf(user, 'client-key'),
  }
  requirePair(user, certificate ?? files.certificate, key ?? files.key)
  if (certificate && key) checkPair(user, certificate, key)

  const fixed: Identity = {
    ...(token === undefined ? {} : { token }),
    ...(certificate && key ? { certificate, key } : {}),
    ...(headers ? { headers } : {}),
  }
  const exec = mapOf(user, 'exec')
  if (exec) {
    const other = ['token', 'tokenFile', 'client-certificate-data', 'client-certificate'].find((f) => textOf(user, f))
    if (other) throw invalid(`${user.path}: exec and ${other} are both set`, user.file, 'keep one of them')
    const plugin = toExecPlugin({ ...user, path: `${user.path}.exec`, fields: exec }, cluster)
    return execCredentials(plugin, fixed, { ...world, isTerminal: process.stdin.isTTY === true })
  }
  const readsFiles = files.token ?? files.certificate ?? files.key
  return readsFiles === undefined ? fixedCredentials(fixed) : fileCredentials(files, fixed, world.clock)
}

function refuseOldWays(user: Part): void {
  if (user.fields['auth-provider']) {
    throw unsupported(user, 'auth-provider', 'use an exec plugin of your cloud: kubectl has dropped auth-provider too')
  }
  if (textOf(user, 'username') || textOf(user, 'password')) {
    throw unsupported(
      user,
      'username',
      'API servers have dropped passwords: use a token, a certificate or an exec plugin',
    )
  }
}

function requirePair(user: Part, certificate: string | undefined, key: string | undefined): void {
  if ((certificate === undefined) === (key === undefined)) return
  const missing = certificate === undefined ? 'client-certificate-data' : 'client-key-data'
  throw invalid(`${user.path}.${missing}: is missing`, user.file, 'a client certificate and its key come together')
}

function checkPair(user: Part, certificate: string, key: string): void {
  try {
    createSecureContext({ cert: certificate, key })
  } catch (cause) {
    const field = `${user.path}.client-certificate-data`
    throw invalid(
      `${field}: does not fit client-key-data, or one of them cannot be read`,
      user.file,
      'copy both again',
      cause,
    )
  }
}

function toImpersonation(user: Part): Record<string, string | readonly string[]> | undefined {
  const [name, uid] = [textOf(user, 'as'), textOf(user, 'as-uid')]
  const groups = listOf(user, 'as-groups').map(String)
  if (mapOf(user, 'as-user-extra')) throw unsupported(user, 'as-user-extra', 'impersonate by as, as-uid and as-groups')
  if (name === undefined) {
    if (uid === undefined && groups.length === 0) return undefined
    throw invalid(`${user.path}.as: is missing`, user.file, 'as-uid and as-groups need as')
  }
  return {
    'impersonate-user': name,
    ...(uid === undefined ? {} : { 'impersonate-uid': uid }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups }),
  }
}

function toExecPlugin(exec: Part, cluster: Part): ExecPlugin {
  if (!exec.isTrusted) throw untrusted({ ...exec, path: exec.path.replace(/\.exec$/, '') }, 'exec')
  const command = textOf(exec, 'command')
  if (command === undefined) throw invalid(`${exec.path}.command: is missing`, exec.file, 'name the program to run')
  const apiVersion = textOf(exec, 'apiVersion')
  if (apiVersion === undefined || !EXEC_VERSIONS.includes(apiVersion)) {
    throw invalid(`${exec.path}.apiVersion: is not supported`, exec.file, `use one of: ${EXEC_VERSIONS.join(', ')}`)
  }
  const interactive = textOf(exec, 'interactiveMode') ?? 'IfAvailable'
  if (interactive !== 'Never' && interactive !== 'IfAvailable' && interactive !== 'Always') {
    throw invalid(`${exec.path}.interactiveMode: is unknown`, exec.file, 'use Never, IfAvailable or Always')
  }
  const env = listOf(exec, 'env') as readonly { name?: unknown; value?: unknown }[]
  return {
    // A path is seen from the kubeconfig; a bare name is looked up on the PATH.
    command: command.includes('/') ? fileOf(exec, 'command')! : command,
    args: listOf(exec, 'args').map(String),
    env: Object.fromEntries(env.map(({ name, value }) => [String(name), String(value ?? '')])),
    apiVersion,
    interactive,
    installHint: textOf(exec, 'installHint'),
    cluster: flagOf(exec, 'provideClusterInfo') ? toClusterInfo(cluster) : undefined,
    origin: `${exec.path} of ${exec.file}`,
  }
}

const SHARED_WITH_PLUGINS = ['server', 'tls-server-name', 'insecure-skip-tls-verify', 'certificate-authority-data']

function toClusterInfo(cluster: Part): Fields {
  const shared = SHARED_WITH_PLUGINS.filter((field) => cluster.fields[field] !== undefined)
  const extensions = listOf(cluster, 'extensions') as readonly { name?: unknown; extension?: unknown }[]
  const config = extensions.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension
  return {
    ...Object.fromEntries(shared.map((field) => [field, cluster.fields[field]])),
    ...(config === undefined ? {} : { config }),
  }
}
