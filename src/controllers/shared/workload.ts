// Ports of the add-on controllers outside the management API: workload clusters, and the instances that a dead Karpenter
// may leave behind. The kube client and the cloud adapters implement them.
import type { Key, KindRef } from '#api'
import type { Cache, Objects } from '#kube'

/** A connection to one workload cluster. */
export interface Workload {
  readonly objects: Objects
  /**
   * Calls back after anything of these kinds has changed, once per burst, until the returned function is called. A kind
   * that is not served yet is retried. Losing the connection counts as a change.
   */
  watch(kinds: readonly KindRef[], onChange: () => void): () => void
}

export interface Workloads {
  /**
   * Undefined while the cluster has no kubeconfig. Throws KubeError when it has one that does not work. A connection that
   * was opened at most `maxAgeSeconds` ago is used without reading the kubeconfig again.
   */
  open(cluster: Key, maxAgeSeconds?: number): Promise<Workload | undefined>
}

/** What the controllers of machines and pools read: caches, and the Nodes of the workload cluster. */
export interface NodePorts {
  readonly cache: Cache
  readonly clusterKind: KindRef
  readonly workloads: Workloads
}

/** An instance with the cluster's tag that Karpenter made. No credentials, no addresses. */
interface TaggedInstance {
  readonly id: string
  readonly nodePool?: string
}

/** A load balancer, target group, network interface or security group that a controller of the cluster made. */
export interface CloudObject {
  /** In words: `load balancer`, `security group`. */
  readonly kind: string
  readonly id: string
  /** False when it is only certain that it has the tag, not that it is in the cluster's own network. */
  readonly isRemovable: boolean
}

export interface Instances {
  /** Running instances tagged `kubernetes.io/cluster/<name>=owned` and `karpenter.sh/nodepool`. */
  list(cluster: Key): Promise<readonly TaggedInstance[]>
  terminate(cluster: Key, ids: readonly string[]): Promise<void>
  /** Volumes of the cluster that outlive its machines. They hold people's data: listed, never deleted by us. */
  volumes?(cluster: Key): Promise<readonly string[]>
  /** Instance profiles that Karpenter made and did not delete: listed, never deleted by us. */
  profiles?(cluster: Key): Promise<readonly string[]>
  /** Sorted in the order of their removal. Undefined when the cluster is in no cloud that can be searched. */
  network?(cluster: Key): Promise<readonly CloudObject[] | undefined>
  /** Tries each of them; throws the first error at the end. */
  removeNetwork?(cluster: Key, objects: readonly CloudObject[]): Promise<void>
}
