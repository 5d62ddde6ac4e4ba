// Dependencies of the delivery controller.
import type { ClusterApiVersion, Key } from '#api'
import type { Instances, Workloads } from '../shared/workload.ts'

export interface DeliveryPorts {
  readonly workloads: Workloads
  /** Finds what a dead Karpenter left; without it nothing can be listed. */
  readonly instances?: Instances
  /** Fetches an install file for flux.manifest. */
  readonly fetchText?: (url: string) => Promise<string>
  /** Reconciles one AddonDelivery now. */
  readonly wake: (delivery: Key) => void
  /** Served version of Cluster. */
  readonly clusterApi: ClusterApiVersion
  /** Served version of ClusterResourceSet; undefined when it is not served at all. */
  readonly resourceSets: ClusterApiVersion | undefined
  /** Namespace whose pipelines may serve every namespace. */
  readonly homeNamespace: string
}
