// What a server serves, as the server itself reports it. A refusal is an error of its own and never means "not served".
import { groupOf, type KindRef, type UnknownObject } from '#api'
import { toKubeError } from '#kube'
import { CaptError, isPlainObject } from '#lib'
import type { Connected } from './command.ts'

type Server = Pick<Connected, 'raw' | 'server'>

/** The body of a successful answer, undefined for 404; every other answer is thrown as the client would throw it. */
export async function askServer(
  { raw, server }: Server,
  path: string,
  asked: { readonly what?: string; readonly accept?: string; readonly kind?: KindRef } = {},
): Promise<string | undefined> {
  const { status, body } = await raw(path, asked.accept)
  if (status === 404) return undefined
  if (status >= 200 && status < 300) return body
  throw toKubeError(
    { status, contentType: '', text: body },
    { what: asked.what ?? `get ${path}`, kind: asked.kind, address: server, origin: 'the kubeconfig' },
  )
}

/** Versions in which a group is served; undefined when it is not served at all. */
export async function servedVersions(server: Server, group: string): Promise<readonly string[] | undefined> {
  const body = await askServer(server, `/apis/${group}`, { what: `discover ${group}` })
  if (body === undefined) return undefined
  const { versions = [] } = JSON.parse(body) as { versions?: readonly { readonly version: string }[] }
  return versions.map(({ version }) => version)
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

export type FindKind = (apiVersion: string, kind: string) => Promise<KindRef>

/** Which resource a kind is; asked once per group and version. */
export function kindFinder(server: Server): FindKind {
  const lists = new Map<string, Promise<ResourceList>>()
  const ask = async (apiVersion: string): Promise<ResourceList> => {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const body = await askServer(server, path, { what: `discover ${apiVersion}` })
    return body === undefined ? {} : (JSON.parse(body) as ResourceList)
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
      if (!(error instanceof CaptError) || error.code !== NOT_SERVED) throw error
      missing.add(`${kind} in ${apiVersion}`)
    })
  }
  if (missing.size > 0) throw notServed(server, [...missing])
}

function kindsDefinedBy({ kind, spec }: UnknownObject): readonly string[] {
  if (kind !== 'CustomResourceDefinition' || !isPlainObject(spec) || !isPlainObject(spec['names'])) return []
  return [`${String(spec['group'])}/${String(spec['names']['kind'])}`]
}

const NOT_SERVED = 'CAPT_KUBE_KIND_NOT_SERVED'

const notServed = ({ server }: Server, kinds: readonly string[]): CaptError =>
  new CaptError(NOT_SERVED, `${server} does not serve ${kinds.join(', ')}`, {
    hint: 'check the apiVersion, or install the provider or CRD that brings this kind',
  })
