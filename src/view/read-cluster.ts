// Reads a Cluster with everything that belongs to it: infrastructure, control plane, node pools,
// machines, applies and deliveries.
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachinePool,
  CAPTMachineSet,
  CLUSTER_NAME_LABEL,
  type KindRef,
  notFound,
  readCluster,
  WorkspaceTemplateApply,
} from '#api'
import { ignore, type Objects } from '#kube'
import type { ClusterObjects } from './cluster-tree.ts'

/** `kind` is Cluster in the version that the server serves. */
export async function readClusterObjects(
  kind: KindRef,
  name: string,
  { objects, namespace }: { readonly objects: Objects; readonly namespace: string },
): Promise<ClusterObjects> {
  const cluster = await objects.get<AnyObject>(kind, { namespace, name })
  if (!cluster) throw notFound(kind, { namespace, name })
  const { infrastructureRef, controlPlaneRef } = readCluster(cluster)
  const labelled = async <T extends AnyObject>(of: KindRef): Promise<T[]> => {
    const selection = { namespace, labelSelector: `${CLUSTER_NAME_LABEL}=${name}` }
    const found = await Array.fromAsync(objects.list<T>(of, selection))
    return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }
  // An installation of an older version does not serve every kind.
  const served = async <T extends AnyObject>(of: KindRef): Promise<T[]> =>
    (await labelled<T>(of).catch(ignore('KindNotServed'))) ?? []
  const infrastructure = infrastructureRef?.kind === CAPTCluster.kind ? infrastructureRef.name : undefined
  const controlPlane = controlPlaneRef?.kind === CAPTControlPlane.kind ? controlPlaneRef.name : undefined
  return {
    cluster,
    ...(infrastructure
      ? { infrastructure: await objects.get<CAPTCluster>(CAPTCluster, { namespace, name: infrastructure }) }
      : {}),
    ...(controlPlane
      ? { controlPlane: await objects.get<CAPTControlPlane>(CAPTControlPlane, { namespace, name: controlPlane }) }
      : {}),
    pools: await served<CAPTMachinePool>(CAPTMachinePool),
    machines: {
      deployments: await served<CAPTMachineDeployment>(CAPTMachineDeployment),
      sets: await served<CAPTMachineSet>(CAPTMachineSet),
      machines: await served<CAPTMachine>(CAPTMachine),
    },
    applies: await labelled<WorkspaceTemplateApply>(WorkspaceTemplateApply),
    deliveries: await labelled<AddonDelivery>(AddonDelivery),
  }
}
