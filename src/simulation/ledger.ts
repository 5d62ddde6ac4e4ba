// The machines that the simulated cloud has running. Kept in the management API, not in the workload: what a dead
// workload cluster leaves behind must still be found, and the record must survive a restart.
import { CLUSTER_NAME_LABEL, type ConfigMap, ConfigMapKind, type Key } from '#api'
import { isKubeError, type Objects } from '#kube'
import { simulated } from './names.ts'

export interface SimulatedInstance {
  readonly id: string
  readonly nodePool: string
  readonly type: string
  readonly zone: string
}

export interface Ledger {
  list(): Promise<readonly SimulatedInstance[]>
  add(instance: SimulatedInstance): Promise<void>
  remove(id: string): Promise<void>
}

const nameOf = (cluster: Key) => `${cluster.name}-simulated-instances`

export function simulatedLedger(home: Objects, cluster: Key): Ledger {
  const key = { namespace: cluster.namespace!, name: nameOf(cluster) }
  async function change(data: Readonly<Record<string, string | null>>): Promise<void> {
    try {
      await home.patch(ConfigMapKind, key, { type: 'merge', body: { data } })
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error
      const kept = Object.fromEntries(
        Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== null),
      )
      if (Object.keys(kept).length === 0) return
      const labels = { ...simulated, [CLUSTER_NAME_LABEL]: cluster.name }
      await home.create<ConfigMap>(ConfigMapKind, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...key, labels },
        data: kept,
      })
    }
  }
  return {
    async list() {
      const live = await home.get<ConfigMap>(ConfigMapKind, key)
      return Object.values(live?.data ?? {}).map((text) => JSON.parse(text) as SimulatedInstance)
    },
    add: (instance) => change({ [instance.id]: JSON.stringify(instance) }),
    remove: (id) => change({ [id]: null }),
  }
}

/** The simulated cloud as the teardown of add-ons asks it. */
export function simulatedInstances(home: Objects) {
  return {
    list: async (cluster: Key) => await simulatedLedger(home, cluster).list(),
    async terminate(cluster: Key, ids: readonly string[]): Promise<void> {
      for (const id of ids) await simulatedLedger(home, cluster).remove(id)
    },
  }
}
