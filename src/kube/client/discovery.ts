// What a server serves, as the server itself reports it. Asks for one group or version at a time: small answers, on every
// server. A refusal is an error of its own and never means "not served".
import { CLUSTER_API_VERSIONS, type ClusterApiVersion, groupOf, type KindRef, type UnknownObject } from '#api'
import { CaptError, isPlainObject } from '#lib'
import { isKubeError, KubeError } from '../port.ts'
import { toKubeError } from './answers.ts'
import type { Client } from './client.ts'

export interface Server {
  /** Its address. */
  readonly server: string
  /** Where the address was configured; the kubeconfig when left out. */
  readonly origin?: string
  /** A plain GET below the server's address, for probes, discovery and tables. */
  raw(path: string, accept?: string): Promise<{ readonly status: number; readonly body: string }>
}

export function serverOf(client: Pick<Client, 'raw' | 'access'>): Server {
  const { server, origin } = client.access
  return {
    server,
    origin,
    async raw(path, accept = 'application/json') {
      const { status, text } = await client.raw(path, { headers: { accept } })
      return { status, body: text }
    },
  }
}

/** The body of a successful answer, undefined for 404; every other answer is thrown as the client would throw it. */
export async function askServer(
  { raw, server, origin = 'the kubeconfig' }: Server,
  path: string,
  request: { readonly what?: string; readonly accept?: string; readonly kind?: KindRef } = {},
): Promise<string | undefined> {
  const { status, body } = await raw(path, request.accept)
  if (status === 404) return undefined
  if (status >= 200 && status < 300) return body
  throw toKubeError(
    { status, contentType: '', text: body },
    { what: request.what ?? `get ${path}`, kind: request.kind, address: server, origin },
  )
}

async function discover<T>(server: Server, path: string, what: string): Promise<T | undefined> {
  const body = await askServer(server, path, { what: `discover ${what}` })
  if (body === undefined) return undefined
  try {
    return JSON.parse(body) as T
  } catch {
    throw new KubeError('BadAnswer', `discover ${what}: ${server.server} answered with something that is not JSON`, {
      at: server.server,
      hint: `check the server and the credentials of ${server.origin ?? 'the kubeconfig'}`,
    })
  }
}

interface GroupAnswer {
  readonly versions?: readonly (string | { readonly version: string })[]
  readonly preferredVersion?: { readonly version: string }
}

/** Versions of a group, the one that the server prefers first; empty when the group is not served. */
export async function servedVersions(server: Server, group: string): Promise<readonly string[]> {
  const path = group === '' ? '/api' : `/apis/${encodeURIComponent(group)}`
  const answer = await discover<GroupAnswer>(server, path, group === '' ? path : group)
  const versions = (answer?.versions ?? []).map((item) => (typeof item === 'string' ? item : item.version))
  const preferred = answer?.preferredVersion?.version
  return preferred === undefined ? versions : [preferred, ...versions.filter((version) => version !== preferred)]
}

/** The newest version of a Cluster API group that both the server and capt know. */
export async function servedClusterApi(server: Server, group: string): Promise<ClusterApiVersion | undefined> {
  const served = await servedVersions(server, group)
  return CLUSTER_API_VERSIONS.find((version) => served.includes(version))
}

/** A Cluster API kind in the version that the server serves. */
export async function servedKind(server: Server, make: (version: ClusterApiVersion) => KindRef): Promise<KindRef> {
  const { group, kind } = make('v1beta2')
  const served = await servedVersions(server, group)
  const version = CLUSTER_API_VERSIONS.find((candidate) => served.includes(candidate))
  if (version) return make(version)
  const isAbsent = served.length === 0
  throw new CaptError(
    'CAPT_CLUSTER_API_MISSING',
    isAbsent
      ? `${server.server} does not serve ${kind}: Cluster API is not installed there`
      : `${server.server} serves no version of ${group} that capt speaks`,
    isAbsent ? { hint: 'run clusterctl init, or use an embedded home: capt up --data DIR' } : {},
  )
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

type FindKind = (apiVersion: string, kind: string) => Promise<KindRef>

/** Which resource a kind is; asked once per group and version. */
export function kindFinder(server: Server): FindKind {
  const lists = new Map<string, Promise<ResourceList>>()
  const ask = async (apiVersion: string): Promise<ResourceList> => {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    return (await discover<ResourceList>(server, path, apiVersion)) ?? {}
  }
  return async (apiVersion, kind) => {
    if (!lists.has(apiVersion)) lists.set(apiVersion, ask(apiVersion))
    const list = await lists.get(apiVersion)!
    const found = list.resources?.find((resource) => resource.kind === kind && !resource.name.includes('/'))
    if (!found) {
      // A CRD of the same manifest may make the kind known later.
      lists.delete(apiVersion)
      throw notServed(server, [`${kind} in ${apiVersion}`])
    }
    const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion]
    return { group, version, kind, plural: found.name, namespaced: found.namespaced }
  }
}

/** Throws when one of these objects is of a kind that is neither served nor defined by a CRD among them. */
export async function requireServed(objects: readonly UnknownObject[], server: Server, find: FindKind): Promise<void> {
  const defined = new Set(objects.flatMap(kindsDefinedBy))
  const missing = new Set<string>()
  for (const { apiVersion, kind } of objects) {
    if (defined.has(`${groupOf(apiVersion)}/${kind}`)) continue
    await find(apiVersion, kind).catch((error: unknown) => {
      if (!isKubeError(error, 'KindNotServed')) throw error
      missing.add(`${kind} in ${apiVersion}`)
    })
  }
  if (missing.size > 0) throw notServed(server, [...missing])
}

function kindsDefinedBy({ kind, spec }: UnknownObject): readonly string[] {
  if (kind !== 'CustomResourceDefinition' || !isPlainObject(spec) || !isPlainObject(spec['names'])) return []
  return [`${String(spec['group'])}/${String(spec['names']['kind'])}`]
}

const notServed = ({ server }: Server, kinds: readonly string[]): KubeError =>
  new KubeError('KindNotServed', `${server} does not serve ${kinds.join(', ')}`, {
    hint: 'check the apiVersion, or install the provider or CRD that brings this kind',
  })
