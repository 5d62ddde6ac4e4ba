// Which resource a kind is, as the server says it; asked once per group and version.
import type { KindRef } from '#api'
import { CaptError } from '#lib'
import type { Connected } from './command.ts'

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

export function kindFinder(
  connected: Pick<Connected, 'raw' | 'server'>,
): (apiVersion: string, kind: string) => Promise<KindRef> {
  const lists = new Map<string, Promise<ResourceList | undefined>>()
  const ask = async (apiVersion: string): Promise<ResourceList | undefined> => {
    const { status, body } = await connected.raw(
      apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`,
    )
    return status === 200 ? (JSON.parse(body) as ResourceList) : undefined
  }
  return async (apiVersion, kind) => {
    if (!lists.has(apiVersion)) lists.set(apiVersion, ask(apiVersion))
    const list = await lists.get(apiVersion)!
    const found = list?.resources?.find((resource) => resource.kind === kind && !resource.name.includes('/'))
    if (!found) {
      // A CRD of the same manifest may make the kind known later.
      lists.delete(apiVersion)
      throw new CaptError('CAPT_KUBE_KIND_NOT_SERVED', `${connected.server} does not serve ${kind} in ${apiVersion}`, {
        hint: 'check the apiVersion, or install the provider or CRD that brings this kind',
      })
    }
    const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion]
    return { group, version, kind, plural: found.name, namespaced: found.namespaced }
  }
}
