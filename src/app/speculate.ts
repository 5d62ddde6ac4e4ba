// What a file of manifests would ask of Terraform: for each apply that it concerns, the spec that the controllers would write.
// Objects are sent as dry runs, so that defaults and what is there already count; nothing is stored.
import {
  type AnyObject,
  type WorkspaceTemplateApply as Apply,
  CAPTCluster,
  CAPTControlPlane,
  isAdopted,
  type KindRef,
  readCluster,
  WorkspaceTemplateApply,
} from '#api'
import { eksApplyName, eksRequest, networkOf, regionOf, vpcRequest } from '#controllers'
import type { Objects } from '#kube'

export interface Speculated {
  /** Name of the apply. */
  readonly target: string
  readonly spec: Pick<Apply['spec'], 'templateRef'> & Partial<Apply['spec']>
}

export async function speculate(
  objects: Objects,
  namespace: string,
  manifests: readonly AnyObject[],
): Promise<readonly Speculated[]> {
  const place = (object: AnyObject) => ({ ...object, metadata: { namespace, ...object.metadata } })
  const tryOut = async <T extends AnyObject>(kind: KindRef): Promise<readonly T[]> =>
    await Promise.all(
      manifests
        .filter((object) => object.kind === kind.kind)
        .map((object) => objects.apply<T>(kind, place(object) as T, { dryRun: true })),
    )
  const clusters = manifests.filter(({ kind }) => kind === 'Cluster').map((object) => readCluster(place(object)))
  const clusterOf = (which: 'infrastructureRef' | 'controlPlaneRef', { metadata }: AnyObject) =>
    clusters.find((cluster) => cluster[which]?.name === metadata.name)?.name ?? metadata.name
  const applies = (await tryOut<Apply>(WorkspaceTemplateApply)).map((one) => ({
    target: one.metadata.name,
    spec: one.spec,
  }))
  const networks = await tryOut<CAPTCluster>(CAPTCluster)
  const vpcs = networks.flatMap((object) => {
    const cluster = clusterOf('infrastructureRef', object)
    const { status, spec } = object
    return vpcRequest(object, cluster, status?.clusterName ?? spec.clusterName ?? cluster) ?? []
  })
  const readEarlier = (object: CAPTControlPlane, cluster: string) =>
    objects.get<Apply>(WorkspaceTemplateApply, { namespace, name: eksApplyName(object, cluster) })
  const planes = await Promise.all(
    (await tryOut<CAPTControlPlane>(CAPTControlPlane)).map(async (object) => {
      const cluster = clusterOf('controlPlaneRef', object)
      const network = networkOf(
        networks.find((one) => clusterOf('infrastructureRef', one) === cluster),
        cluster,
      )
      const region = regionOf(object, network, clusters.find(({ name }) => name === cluster)?.annotations)
      if (region === undefined || isAdopted(object)) return []
      return [eksRequest(object, cluster, network, region, await readEarlier(object, cluster))]
    }),
  )
  return [...applies, ...[...vpcs, ...planes.flat()].map(({ name, spec }) => ({ target: name, spec }))]
}
