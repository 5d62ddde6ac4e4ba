// Everything that the page shows, from informers of one connection: which clusters there are, what belongs to each, and
// which of them changed.
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
  EventKind,
  type KindRef,
  readCluster,
  WorkspaceTemplateApply,
} from '#api'
import { type Connection, type Objects, serverOf } from '#kube'
import type { ClusterObjects, CorePool } from '#view'
import { findVisible } from './kinds.ts'
import { leanApply, leanEvent, type PageEvent } from './projections.ts'

export interface World {
  readonly objects: Objects
  readonly server: string
  readonly namespace: string | undefined
  readonly notices: readonly string[]
  /** `namespace/name` of every cluster. */
  ids(): readonly string[]
  objectsOf(id: string): ClusterObjects | undefined
  eventsOf(objects: ClusterObjects): readonly PageEvent[]
  /** Called with the id of each cluster of which something changed; returns the function that ends it. */
  onChange(handler: (id: string) => void): () => void
  /** What is wrong with the API server; empty when it answers. */
  ping(): Promise<string>
}

const idOf = ({ namespace = '', name }: AnyObject['metadata']): string => `${namespace}/${name}`
const ownersOf = ({ kind, metadata }: AnyObject): string => `${kind}/${idOf(metadata)}`
const labelled = ({ metadata }: AnyObject): readonly string[] => {
  const name = metadata.labels?.[CLUSTER_NAME_LABEL]
  return name === undefined ? [] : [`${metadata.namespace}/${name}`]
}

/** Cluster by the objects that it refers to. */
const referred = (cluster: AnyObject): readonly string[] => {
  const { namespace, infrastructureRef, controlPlaneRef } = readCluster(cluster)
  return [infrastructureRef, controlPlaneRef].flatMap((ref) => (ref ? [`${ref.kind}/${namespace}/${ref.name}`] : []))
}

export async function openWorld(
  connection: Connection,
  scope: { readonly namespace?: string; readonly fallback: string },
  signal: AbortSignal,
): Promise<World> {
  const { client, informers, objects } = connection
  const { cluster, others, corePool, namespace, notices } = await findVisible(serverOf(client), scope)
  const limits = namespace === undefined ? {} : { namespace }
  const has = (kind: KindRef) => others.includes(kind)
  informers.register(cluster, { ...limits, indexes: { referred } })
  for (const kind of others) {
    if (kind === EventKind) informers.register(kind, { ...limits, project: leanEvent, indexes: { about: eventAbout } })
    else if (kind === WorkspaceTemplateApply)
      informers.register(kind, { ...limits, project: leanApply, indexes: { cluster: labelled } })
    else informers.register(kind, { ...limits, indexes: { cluster: labelled } })
  }
  informers.start()
  await informers.synced(signal)

  const handlers = new Set<(id: string) => void>()
  const notify = (id: string) => {
    for (const handler of handlers) handler(id)
  }
  const clustersOf = (object: AnyObject): readonly string[] => {
    if (object.kind === 'Cluster') return [idOf(object.metadata)]
    const byLabel = labelled(object)
    if (byLabel.length > 0) return byLabel
    return informers.keys(cluster, { index: 'referred', value: ownersOf(object) }).map(idOf)
  }
  /** An event belongs to the cluster of the object that it is about. */
  const clustersOfEvent = ({ regarding }: PageEvent): readonly string[] => {
    const { kind = '', name = '', namespace: within = '' } = regarding ?? {}
    if (kind === 'Cluster') return [`${within}/${name}`]
    const ref = others.find((one) => one.kind === kind)
    const found = ref && informers.get<AnyObject>(ref, { namespace: within, name })
    return found ? clustersOf(found) : []
  }
  for (const kind of [cluster, ...others])
    informers.onChange(kind, ({ object }) => {
      for (const id of kind === EventKind ? clustersOfEvent(object as unknown as PageEvent) : clustersOf(object))
        notify(id)
    })

  const listOf = <T extends AnyObject>(kind: KindRef, id: string): T[] =>
    has(kind)
      ? [...informers.list<T>(kind, { index: 'cluster', value: id })].sort((a, b) =>
          a.metadata.name < b.metadata.name ? -1 : 1,
        )
      : []

  return {
    objects,
    server: client.access.server,
    namespace,
    notices,
    ids: () => informers.keys(cluster).map(idOf),
    objectsOf(id) {
      const [within = '', name = ''] = id.split('/')
      const found = informers.get<AnyObject>(cluster, { namespace: within, name })
      if (!found) return undefined
      const { infrastructureRef, controlPlaneRef } = readCluster(found)
      const get = <T extends AnyObject>(kind: KindRef, ref: typeof infrastructureRef): T | undefined =>
        ref?.kind === kind.kind && has(kind) ? informers.get<T>(kind, { namespace: within, name: ref.name }) : undefined
      const infrastructure = get<CAPTCluster>(CAPTCluster, infrastructureRef)
      const controlPlane = get<CAPTControlPlane>(CAPTControlPlane, controlPlaneRef)
      return {
        cluster: found,
        ...(infrastructure ? { infrastructure } : {}),
        ...(controlPlane ? { controlPlane } : {}),
        pools: listOf<CAPTMachinePool>(CAPTMachinePool, id),
        corePools: corePool ? listOf<CorePool>(corePool, id) : [],
        machines: {
          deployments: listOf<CAPTMachineDeployment>(CAPTMachineDeployment, id),
          sets: listOf<CAPTMachineSet>(CAPTMachineSet, id),
          machines: listOf<CAPTMachine>(CAPTMachine, id),
        },
        applies: listOf<WorkspaceTemplateApply>(WorkspaceTemplateApply, id),
        deliveries: listOf<AddonDelivery>(AddonDelivery, id),
      }
    },
    eventsOf({ cluster: own, infrastructure, controlPlane, pools = [], machines, applies, deliveries }) {
      if (!has(EventKind)) return []
      const nodes = [...pools, ...(machines?.deployments ?? []), ...(machines?.machines ?? [])]
      const about = [own, infrastructure, controlPlane, ...nodes, ...applies, ...deliveries].filter(
        (one) => one !== undefined,
      )
      return about.flatMap((one) =>
        informers.list<AnyObject>(EventKind, { index: 'about', value: ownersOf(one) }),
      ) as unknown as PageEvent[]
    },
    onChange(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
    async ping() {
      const answer = await client.raw('/version', {}).catch(() => undefined)
      return answer && answer.status < 500 ? '' : `${client.access.server} does not answer`
    },
  }
}

function eventAbout(object: AnyObject): readonly string[] {
  const { regarding } = object as unknown as PageEvent
  return regarding ? [`${regarding.kind}/${regarding.namespace ?? ''}/${regarding.name}`] : []
}
