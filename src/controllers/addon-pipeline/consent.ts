// Which namespaces a pipeline serves. A pipeline has its stages rendered from Secrets of its own namespace, so an
// object that names it must be in a namespace that it serves: in selecting, in delivering and in blocking its deletion.
// Pure.
import { type AddonPipeline, allowsNamespace } from '#api'

/** Whether the pipeline delivers to Clusters of `namespace` on its own. Only the namespace of capt itself may serve others. */
export function servesNamespace(pipeline: AddonPipeline, namespace: string | undefined, homeNamespace: string) {
  if (pipeline.metadata.namespace === namespace) return true
  return pipeline.spec.allNamespaces && pipeline.metadata.namespace === homeNamespace
}

/** Whether a delivery of `namespace` may follow the pipeline that it names. */
export function mayFollow(namespace: string, pipeline: AddonPipeline, homeNamespace: string): boolean {
  return servesNamespace(pipeline, namespace, homeNamespace) || allowsNamespace(pipeline, namespace)
}
