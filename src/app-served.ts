// What the API server of the manager serves and has: the versions of Cluster API, and the pipeline that comes with capt.
import { defaultPipeline } from '#addons'
import { AddonPipeline, type AnyObject, CLUSTER_API_VERSIONS, type ClusterApiVersion } from '#api'
import { type Connection, discover, isKubeError, type Objects } from '#kube'
import { CaptError, type Clock, type Log, messageOf, sleep } from '#lib'

export interface ServedVersions {
  readonly cluster: ClusterApiVersion
  /** Undefined where ClusterResourceSets are not served. */
  readonly resourceSets: ClusterApiVersion | undefined
}

export async function servedVersions(connection: Connection): Promise<ServedVersions> {
  const { servedVersion } = discover(connection.client)
  const cluster = await servedVersion('cluster.x-k8s.io', CLUSTER_API_VERSIONS)
  if (!cluster) {
    throw new CaptError(
      'CAPT_CLUSTER_API_MISSING',
      `${connection.client.access.server} does not serve Cluster: core Cluster API is not installed there`,
      {
        hint: 'run clusterctl init first, or use an embedded home: capt up --data DIR',
      },
    )
  }
  return { cluster, resourceSets: await servedVersion('addons.cluster.x-k8s.io', CLUSTER_API_VERSIONS) }
}

const FIRST_RETRY_MS = 1000
const MAX_RETRY_MS = 300_000

/**
 * The pipeline that comes with capt is made once; people may change or delete what they do not want. An API server that
 * cannot take it yet is asked again, with a growing delay, until the signal ends it.
 */
export async function shipPipeline(
  objects: Objects,
  namespace: string,
  { log, clock, signal }: { readonly log: Log; readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<void> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
    try {
      await objects.create<AnyObject>(AddonPipeline, defaultPipeline(namespace))
      return
    } catch (error) {
      if (isKubeError(error, 'AlreadyExists')) return
      log.warn('Making the default pipeline failed', { error: messageOf(error), retryAfterSeconds: delayMs / 1000 })
    }
    try {
      await sleep(clock, delayMs, signal)
    } catch {
      return
    }
  }
}
