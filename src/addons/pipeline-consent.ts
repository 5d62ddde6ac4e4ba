// Which namespaces a pipeline serves. A pipeline lets its stages be rendered from Secrets of its own namespace, so
// whoever names it must be served by it: in selecting, in delivering and in blocking its deletion. Pure.
import { type AddonDelivery, type AddonPipeline, allowsNamespace } from '#api'

/** Whether the pipeline delivers to Clusters of `namespace` on its own. Only the namespace of capt itself may serve others. */
export function servesNamespace(pipeline: AddonPipeline, namespace: string | undefined, homeNamespace: string) {
  if (pipeline.metadata.namespace === namespace) return true
  return pipeline.spec.allNamespaces && pipeline.metadata.namespace === homeNamespace
}

/** Whether a delivery may follow the pipeline that it names. */
export function mayFollow(delivery: AddonDelivery, pipeline: AddonPipeline, homeNamespace: string): boolean {
  const { namespace } = delivery.metadata
  return servesNamespace(pipeline, namespace, homeNamespace) || allowsNamespace(pipeline, namespace!)
}
