// The last point at which a run can end without a change. clusterctl lists what it will move before it pauses a
// Cluster and waits: a run that made or dropped Secrets after that would lose them, so it begins nothing under a pause.
import { type AnyObject, CLUSTER_API_VERSIONS, clusterKind, readCluster } from '#api'
import { isKubeError, type Objects } from '#kube'
import type { Owner } from '../../owner.ts'
import { RunFailure } from '../failure.ts'

export async function refuseUnderPause(objects: Objects, { namespace, cluster }: Owner): Promise<void> {
  if (cluster === undefined || !(await isPaused(objects, namespace, cluster))) return
  throw new RunFailure({
    kind: 'paused',
    code: 'CAPT_RUN_PAUSED',
    message: `Cluster ${cluster} was paused before the run had changed anything`,
    hint: 'it begins again when the Cluster goes on, here or where it was moved to',
  })
}

async function isPaused(objects: Objects, namespace: string, name: string): Promise<boolean> {
  for (const version of CLUSTER_API_VERSIONS) {
    try {
      const cluster = await objects.get<AnyObject>(clusterKind(version), { namespace, name })
      return cluster !== undefined && readCluster(cluster).paused
    } catch (error) {
      if (isKubeError(error, 'Forbidden')) return false
      if (!isKubeError(error, 'KindNotServed', 'NotFound')) throw error
    }
  }
  return false
}
