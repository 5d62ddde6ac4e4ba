// What a server serves. Asks for one group or version at a time: small answers, on every server, nothing kept.
import { apiVersionOf, type KindRef } from '#api'
import type { Client } from './client.ts'
import { KubeError } from './port.ts'

export interface Discovery {
  /** Versions of a group, the server's favourite first; empty when the group is not served. */
  servedVersions(group: string): Promise<readonly string[]>
  /** The first of `preferred` that is served. */
  servedVersion<V extends string>(group: string, preferred: readonly V[]): Promise<V | undefined>
  /** Whether this kind is served in this very version. */
  servesKind(kind: KindRef): Promise<boolean>
}

interface GroupAnswer {
  readonly versions?: readonly (string | { readonly version: string })[]
  readonly preferredVersion?: { readonly version: string }
}

interface ResourcesAnswer {
  readonly resources?: readonly { readonly name: string; readonly kind: string }[]
}

export function discover(client: Pick<Client, 'raw' | 'access'>): Discovery {
  async function ask<T>(path: string): Promise<T | undefined> {
    const { status, text } = await client.raw(path)
    if (status === 404) return undefined
    const fault = (reason: 'BadAnswer' | 'Unauthorized' | 'Forbidden' | 'ServerError', problem: string) =>
      new KubeError(reason, `discover ${path}: ${client.access.server} ${problem}`, {
        status,
        at: client.access.server,
        hint: `check the server and the credentials of ${client.access.origin}`,
      })
    if (status === 401) throw fault('Unauthorized', 'does not know our credentials')
    if (status === 403) throw fault('Forbidden', 'does not let us look')
    if (status >= 400) throw fault('ServerError', `answered ${status}`)
    try {
      return JSON.parse(text) as T
    } catch {
      throw fault('BadAnswer', 'answered with something that is not JSON')
    }
  }

  async function servedVersions(group: string): Promise<readonly string[]> {
    const answer = await ask<GroupAnswer>(group === '' ? '/api' : `/apis/${encodeURIComponent(group)}`)
    const versions = (answer?.versions ?? []).map((item) => (typeof item === 'string' ? item : item.version))
    const favourite = answer?.preferredVersion?.version
    return favourite === undefined ? versions : [favourite, ...versions.filter((version) => version !== favourite)]
  }

  return {
    servedVersions,
    async servedVersion(group, preferred) {
      const served = await servedVersions(group)
      return preferred.find((version) => served.includes(version))
    },
    async servesKind(kind) {
      const root = kind.group === '' ? '/api' : '/apis'
      const answer = await ask<ResourcesAnswer>(`${root}/${apiVersionOf(kind)}`)
      return answer?.resources?.some(({ name, kind: served }) => name === kind.plural && served === kind.kind) ?? false
    },
  }
}
