// What the API server of the manager serves and has: the versions of Cluster API, and the pipeline that comes with capt.
import { defaultPipeline } from '#addons'
import { AddonPipeline, type AnyObject, CLUSTER_API_VERSIONS, type ClusterApiVersion } from '#api'
import { type Connection, discover, isKubeError, type Objects } from '#kube'
import { CaptError, type Log, messageOf } from '#lib'

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

/** The pipeline that comes with capt is made once; people may change or delete what they do not want. */
export async function shipPipeline(objects: Objects, namespace: string, log: Log): Promise<void> {
  try {
    await objects.create<AnyObject>(AddonPipeline, defaultPipeline(namespace))
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists'))
      log.warn('Making the default pipeline failed', { error: messageOf(error) })
  }
}
