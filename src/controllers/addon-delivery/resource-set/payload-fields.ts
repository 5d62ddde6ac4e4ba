// core's Reconcile makes a live object equal to the manifest and so removes finalizers, labels and annotations that
// others put there. Live metadata is therefore merged into the manifest when it is written.
import { keyOf, type UnknownObject } from '#api'
import { isKubeError, type Objects } from '#kube'
import { parseKindRef } from '../manifests/kind-ref.ts'
import type { Manifest } from '../manifests/manifests.ts'

/** Set by the API server. */
const OWN_LABEL = 'kubernetes.io/metadata.name'
/** Written by tools for their own bookkeeping; merging them would freeze a stale copy. */
const NEVER =
  /^(kubectl\.kubernetes\.io\/last-applied-configuration|deployment\.kubernetes\.io\/revision|reconcile\.fluxcd\.io\/.*)$/

export async function withLiveMetadata(objects: Objects, manifests: readonly Manifest[]): Promise<readonly Manifest[]> {
  return await Promise.all(
    manifests.map(async (manifest) => mergeLiveMetadata(manifest, await read(objects, manifest))),
  )
}

async function read(objects: Objects, manifest: Manifest): Promise<UnknownObject | undefined> {
  try {
    return await objects.get<UnknownObject>(parseKindRef(manifest), keyOf(manifest))
  } catch (error) {
    if (isKubeError(error, 'KindNotServed', 'NotFound')) return undefined
    throw error
  }
}

function mergeLiveMetadata(manifest: Manifest, live: UnknownObject | undefined): Manifest {
  if (!live || live.metadata.deletionTimestamp) return manifest
  const { labels, annotations, finalizers } = manifest.metadata as {
    labels?: Record<string, string>
    annotations?: Record<string, string>
    finalizers?: readonly string[]
  }
  const allFinalizers = [...new Set([...(finalizers ?? []), ...(live.metadata.finalizers ?? [])])].sort()
  const { [OWN_LABEL]: _own, ...liveLabels } = live.metadata.labels ?? {}
  const allLabels = { ...liveLabels, ...labels }
  const allAnnotations = {
    ...Object.fromEntries(Object.entries(live.metadata.annotations ?? {}).filter(([key]) => !NEVER.test(key))),
    ...annotations,
  }
  return {
    ...manifest,
    metadata: {
      ...manifest.metadata,
      ...(Object.keys(allLabels).length > 0 ? { labels: allLabels } : {}),
      ...(Object.keys(allAnnotations).length > 0 ? { annotations: allAnnotations } : {}),
      ...(allFinalizers.length > 0 ? { finalizers: allFinalizers } : {}),
    },
  }
}
