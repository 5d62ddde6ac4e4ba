// What the simulated cloud has running: machines, and what controllers of the cluster hold there. Kept in the management
// API, not in the workload: what a dead workload cluster leaves behind must still be found, and the record must survive a
// restart.
import { CLUSTER_NAME_LABEL, type ConfigMap, ConfigMapKind, type Key } from '#api'
import { ignore, isKubeError, type Objects } from '#kube'
import { simulated } from './names.ts'

export interface SimulatedInstance {
  readonly id: string
  readonly nodePool: string
  readonly type: string
  readonly zone: string
  /** A machine of EKS Auto Mode: EKS terminates it with the cluster, and nobody else may. */
  readonly isManaged?: boolean
}

/** In the order in which a cloud lets them go. */
const NETWORK_KINDS = ['load balancer', 'target group', 'network interface', 'security group'] as const

export interface SimulatedObject {
  readonly kind: (typeof NETWORK_KINDS)[number] | 'volume' | 'instance profile'
  readonly id: string
  /** The load balancer that uses it: it cannot be deleted before. */
  readonly usedBy?: string
}

export interface Ledger {
  list(): Promise<readonly SimulatedInstance[]>
  add(instance: SimulatedInstance): Promise<void>
  /** An instance or an object. */
  remove(id: string): Promise<void>
  /** Everything but instances. */
  objects(): Promise<readonly SimulatedObject[]>
  hold(...objects: readonly SimulatedObject[]): Promise<void>
}

const nameOf = (cluster: Key) => `${cluster.name}-simulated-instances`

export function simulatedLedger(home: Objects, cluster: Key): Ledger {
  const key = { namespace: cluster.namespace!, name: nameOf(cluster) }
  async function change(data: Readonly<Record<string, string | null>>): Promise<void> {
    try {
      const { data: left = {}, metadata } = await home.patch<ConfigMap>(ConfigMapKind, key, {
        type: 'merge',
        body: { data },
      })
      if (Object.keys(left).length === 0) await removeEmpty(metadata.resourceVersion!)
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error
      const kept = Object.fromEntries(
        Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== null),
      )
      if (Object.keys(kept).length === 0) return
      const labels = { ...simulated, [CLUSTER_NAME_LABEL]: cluster.name }
      const map: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key, labels }, data: kept }
      try {
        await home.create<ConfigMap>(ConfigMapKind, map)
      } catch (fault) {
        // Another actor made it in between.
        if (!isKubeError(fault, 'AlreadyExists')) throw fault
        await change(data)
      }
    }
  }
  /** A cluster that is gone leaves no ledger. An entry that was added in between keeps it. */
  async function removeEmpty(resourceVersion: string): Promise<void> {
    await home.delete(ConfigMapKind, key, { resourceVersion }).catch(ignore('Conflict'))
  }
  async function all(): Promise<readonly (SimulatedInstance | SimulatedObject)[]> {
    const live = await home.get<ConfigMap>(ConfigMapKind, key)
    return Object.values(live?.data ?? {}).map((text) => JSON.parse(text) as SimulatedInstance | SimulatedObject)
  }
  return {
    list: async () => (await all()).filter((one): one is SimulatedInstance => !('kind' in one)),
    add: (instance) => change({ [instance.id]: JSON.stringify(instance) }),
    remove: (id) => change({ [id]: null }),
    objects: async () => (await all()).filter((one): one is SimulatedObject => 'kind' in one),
    hold: (...objects) => change(Object.fromEntries(objects.map((one) => [one.id, JSON.stringify(one)]))),
  }
}

/** The simulated cloud as the teardown of add-ons asks it. */
export function simulatedInstances(home: Objects) {
  return {
    list: async (cluster: Key) => (await simulatedLedger(home, cluster).list()).filter(({ isManaged }) => !isManaged),
    async terminate(cluster: Key, ids: readonly string[]): Promise<void> {
      for (const id of ids) await simulatedLedger(home, cluster).remove(id)
    },
    async volumes(cluster: Key): Promise<readonly string[]> {
      const objects = await simulatedLedger(home, cluster).objects()
      return objects.filter(({ kind }) => kind === 'volume').map(({ id }) => id)
    },
    async profiles(cluster: Key): Promise<readonly string[]> {
      const objects = await simulatedLedger(home, cluster).objects()
      return objects.filter(({ kind }) => kind === 'instance profile').map(({ id }) => id)
    },
    async network(cluster: Key) {
      const objects = await simulatedLedger(home, cluster).objects()
      const ordered = NETWORK_KINDS.flatMap((kind) => objects.filter((one) => one.kind === kind))
      return ordered.map(({ kind, id }) => ({ kind, id, isRemovable: true }))
    },
    async removeNetwork(cluster: Key, objects: readonly { readonly id: string }[]): Promise<void> {
      const ledger = simulatedLedger(home, cluster)
      for (const { id } of objects) {
        const held = await ledger.objects()
        const user = held.find((one) => one.id === id)?.usedBy
        if (user !== undefined && held.some((one) => one.id === user))
          throw new Error(`DependencyViolation: ${id} is used by ${user}`)
        await ledger.remove(id)
      }
    },
  }
}
