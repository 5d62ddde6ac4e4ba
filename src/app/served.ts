// What the API server of the manager serves and has: the versions of Cluster API, and the pipeline that comes with capt.

import { AddonPipeline, type AnyObject, type ClusterApiVersion, machinePoolKind } from '#api'
import { defaultPipeline, type ServedVersions } from '#controllers'
import {
  type Connection,
  ignore,
  isKubeError,
  kindFinder,
  type Objects,
  type Server,
  servedClusterApi,
  serverOf,
} from '#kube'
import { CaptError, type Clock, type Log, messageOf, sleep } from '#lib'
import { WATCH_FILTER_LABEL } from '#runtime'

export async function servedVersions(connection: Connection): Promise<ServedVersions> {
  const server = serverOf(connection.client)
  const cluster = await servedClusterApi(server, 'cluster.x-k8s.io')
  if (!cluster) {
    throw new CaptError(
      'CAPT_CLUSTER_API_MISSING',
      `${server.server} does not serve Cluster: core Cluster API is not installed there`,
      {
        hint: 'run clusterctl init first, or use an embedded home: capt up --data DIR',
      },
    )
  }
  const resourceSets = await servedClusterApi(server, 'addons.cluster.x-k8s.io')
  return { cluster, machinePools: await servedMachinePools(server, cluster), resourceSets }
}

/** Core may be installed without its CRD; a kind that is not served can be neither listed nor watched. */
async function servedMachinePools(server: Server, version: ClusterApiVersion): Promise<ClusterApiVersion | undefined> {
  const kind = kindFinder(server)(`cluster.x-k8s.io/${version}`, machinePoolKind(version).kind)
  return (await kind.catch(ignore('KindNotServed'))) ? version : undefined
}

const FIRST_RETRY_MS = 1000
const MAX_RETRY_MS = 300_000

interface ShipOptions {
  readonly log: Log
  readonly clock: Clock
  readonly signal?: AbortSignal
  /** The pipeline belongs to the managers with this value. */
  readonly watchFilter?: string | undefined
}

/**
 * The pipeline that comes with capt is made once; people may change or delete what they do not want. An API server that
 * cannot take it yet is asked again, with a growing delay, until the signal ends it.
 */
export async function shipPipeline(objects: Objects, namespace: string, options: ShipOptions): Promise<void> {
  const { log, clock, signal, watchFilter } = options
  const pipeline = defaultPipeline(namespace)
  const labels = { ...pipeline.metadata.labels, ...(watchFilter ? { [WATCH_FILTER_LABEL]: watchFilter } : {}) }
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
    try {
      await objects.create<AnyObject>(AddonPipeline, { ...pipeline, metadata: { ...pipeline.metadata, labels } })
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
