// What the add-on controllers ask of the world outside the management API: workload clusters, and the instances that
// a dead Karpenter may leave behind. The kube client and the cloud adapters keep these promises.
import type { Key, KindRef } from '#api'
import type { Objects } from '#kube'

/** An open door to one workload cluster. */
export interface Workload {
  readonly objects: Objects
  /**
   * Calls back after anything of these kinds has changed, once per burst, until the answer is called. A kind that is
   * not served yet is tried again by itself. Losing the connection counts as a change.
   */
  watch(kinds: readonly KindRef[], onChange: () => void): () => void
}

export interface Workloads {
  /** Undefined while the cluster has no kubeconfig. Throws KubeError when it has one that does not work. */
  open(cluster: Key): Promise<Workload | undefined>
}

/** A machine that carries the cluster's tag and that Karpenter made. No credentials, no addresses. */
export interface TaggedInstance {
  readonly id: string
  readonly nodePool?: string
}

export interface Instances {
  /** Running instances tagged `kubernetes.io/cluster/<name>=owned` and `karpenter.sh/nodepool`. */
  list(cluster: Key): Promise<readonly TaggedInstance[]>
  terminate(cluster: Key, ids: readonly string[]): Promise<void>
  /** Volumes of the cluster that outlive its machines. They hold people's data: listed, never deleted by us. */
  volumes?(cluster: Key): Promise<readonly string[]>
}
