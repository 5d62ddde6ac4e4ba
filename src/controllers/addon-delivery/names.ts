// Labels, annotations and names that add-ons use, spelt once. The names of the seeds stay as prefixes.
import type { AddonDelivery } from '#api'
import { boundedName, shortHash } from '#lib'

/** On a ConfigMap that a pipeline takes manifests or variables from: capt then watches it. */
export const SOURCE_LABEL = 'capt.appthrust.com/addon-source'
/** Names exactly one Cluster of a namespace, so that a set can select it alone. */
export const CLUSTER_LABEL = 'capt.appthrust.com/cluster'
/** On what a stage made in the management cluster. */
export const STAGE_LABEL = 'capt.appthrust.com/stage'
/** On an AddonDelivery and what it made: the pipeline. */
export const PIPELINE_LABEL = 'capt.appthrust.com/pipeline'
/** Chooses a pipeline by name; the shipped one serves Clusters without it. */
export const PIPELINE_CHOICE_LABEL = 'capt.appthrust.com/addon-pipeline'
/** On a payload: hash of what was rendered, before live metadata was merged in. */
export const CONTENT_ANNOTATION = 'capt.appthrust.com/content-hash'
/** On a payload: changed to make core reconcile at once. */
export const NUDGE_ANNOTATION = 'capt.appthrust.com/nudged'
/** On an AddonDelivery: gates that capt has opened, and whose label it was. Survives a move, unlike status. */
export const GATES_ANNOTATION = 'capt.appthrust.com/gates-opened'
/** On an AddonDelivery that is deleted because its pipeline no longer selects the Cluster: nothing is uninstalled. */
export const RELEASE_ANNOTATION = 'capt.appthrust.com/released'
/** On an AddonDelivery: stages (comma separated, or *) that may go although pods have nowhere to go then. */
export const CONFIRM_REMOVAL_ANNOTATION = 'capt.appthrust.com/confirm-removal'
/** On what capt delivered into a workload cluster. */
export const MANAGED_LABEL = 'capt.appthrust.com/managed'
export const PIPELINE_FINALIZER = 'infrastructure.cluster.x-k8s.io/addonpipeline'
export const DELIVERY_FINALIZER = 'infrastructure.cluster.x-k8s.io/addondelivery'

export const FLUX_NAMESPACE = 'flux-system'
export const RESOURCE_SET_SECRET_TYPE = 'addons.cluster.x-k8s.io/resource-set'

const prefixOf = (stage: string) => (stage === 'flux' ? 'fluxcd' : stage)

export function setName(stage: string, part: string, cluster: string): string {
  return boundedName(`${prefixOf(stage)}-${part === '' ? 'installer' : part}-${cluster}`, 253)
}

export function payloadName(stage: string, part: string, cluster: string, index: number): string {
  const base = boundedName(`${prefixOf(stage)}-${part === '' ? 'resources' : part}-${cluster}`, 240)
  return index === 0 ? base : `${base}-${index + 1}`
}

/** Clusters of one namespace share this payload; options other than the defaults get one of their own. */
export function fluxPayloadName(version: string, options: string, index: number): string {
  const base = options === '' ? `fluxcd-install-${version}` : `fluxcd-install-${version}-${shortHash(options)}`
  return index === 0 ? base : `${base}-${index + 1}`
}

/** `fluxcd.yaml`, and `fluxcd-2.yaml` only when the size limit made a second payload necessary. */
export function payloadKey(stage: string, index: number): string {
  return index === 0 ? `${prefixOf(stage)}.yaml` : `${prefixOf(stage)}-${index + 1}.yaml`
}

/** The Cluster of a delivery. */
export const clusterOf = ({ metadata, spec }: Pick<AddonDelivery, 'metadata' | 'spec'>) => ({
  namespace: metadata.namespace!,
  name: spec.clusterName,
})

export const DEFAULT_PIPELINE = 'default'

export function deliveryName(cluster: string, pipeline: string): string {
  return pipeline === DEFAULT_PIPELINE ? cluster : boundedName(`${cluster}.${pipeline}`, 253)
}
