// Reads what an examination needs: the objects that were asked for, what is kept beside each apply, and what AWS knows of
// it. What cannot be asked is part of the state, so that the rest is still shown.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachinePool,
  clusterKind,
  type KindRef,
  notFound,
  readCluster as readClusterFacts,
  WORKSPACE_ID_ANNOTATION,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { examineWorkspace, isUnreadable, type WorkspaceExam } from '#engine'
import { type Connected, ignore, servedKind } from '#kube'
import { CaptError, isCaptError, messageOf, redact } from '#lib'
import { readClusterObjects } from '#view'
import type { ExaminedCluster } from './objects.ts'
import type { AskKeyAge } from './static-keys.ts'
import { type CloudState, isInAws, type ObservedWorkspace } from './workspace.ts'

/** What the doctor asks of AWS. Throws CaptError when it cannot be asked at all. */
export interface Cloud {
  /** Where the apply says that it makes things. */
  regionOf(apply: WorkspaceTemplateApply): string | undefined
  /** What carries the tag of a workspace, in the region of the apply, in these, and where global things are. */
  findTagged(
    apply: WorkspaceTemplateApply,
    workspaceId: string,
    regions: readonly string[],
  ): Promise<Omit<CloudState & { readonly is: 'asked' }, 'is'>>
  readonly askKeyAge: AskKeyAge
}

interface Scope {
  readonly applies: readonly WorkspaceTemplateApply[]
  /** The other objects of ours that may have stopped. */
  readonly others: readonly AnyObject[]
  /** Clusters with the parts they refer to, as far as these exist. */
  readonly clusters: readonly ExaminedCluster[]
}

/** What to examine: the whole namespace, the cluster or apply of that name, or the object of a kind. */
interface ScopeRequest {
  readonly name?: string | undefined
  readonly kind?: KindRef | undefined
}

export async function readScope({ name, kind }: ScopeRequest, connected: Connected): Promise<Scope> {
  const { objects, namespace } = connected
  if (name === undefined) return readNamespace(connected)
  if (kind === undefined) {
    const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
    const isCluster = apply === undefined || (await hasCluster(name, connected))
    return isCluster ? readCluster(name, connected) : { applies: [apply], others: [], clusters: [] }
  }
  if (kind.kind === clusterKind('v1beta2').kind) return readCluster(name, connected)
  if (kind.kind !== WorkspaceTemplateApply.kind)
    throw new CaptError('CAPT_USAGE', `doctor looks at clusters and applies, not at ${kind.plural}`, {
      hint: 'capt doctor CLUSTER, or: capt doctor wtapply NAME',
    })
  const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  if (!apply) throw notFound(WorkspaceTemplateApply, { namespace, name })
  return { applies: [apply], others: [], clusters: [] }
}

async function readNamespace(connected: Connected): Promise<Scope> {
  const list = <T extends AnyObject>(kind: KindRef) => listed<T>(connected, kind)
  const infrastructures = await list<CAPTCluster>(CAPTCluster)
  const controlPlanes = await list<CAPTControlPlane>(CAPTControlPlane)
  const deliveries = await list<AddonDelivery>(AddonDelivery)
  const named = <T extends AnyObject>(all: readonly T[], name: string | undefined) =>
    all.find(({ metadata }) => metadata.name === name)
  const clusters = (await listClusters(connected)).map((cluster) => {
    const { infrastructureRef, controlPlaneRef } = readClusterFacts(cluster)
    const infrastructure = named(infrastructures, infrastructureRef?.name)
    const controlPlane = named(controlPlanes, controlPlaneRef?.name)
    return {
      cluster,
      ...(infrastructure ? { infrastructure } : {}),
      ...(controlPlane ? { controlPlane } : {}),
      applies: [],
      deliveries: [],
      hasDelivery: deliveries.some(({ spec }) => spec.clusterName === cluster.metadata.name),
    }
  })
  const rest = [
    // An installation of an older version does not serve them.
    (await list(CAPTMachinePool).catch(ignore('KindNotServed'))) ?? [],
    deliveries,
    await list(AddonPipeline),
    await list(WorkspaceTemplate),
  ]
  return {
    applies: await list<WorkspaceTemplateApply>(WorkspaceTemplateApply),
    others: [...infrastructures, ...controlPlanes, ...rest.flat()],
    clusters,
  }
}

/** Where Cluster API is not installed there are none. */
async function listClusters(connected: Connected): Promise<readonly AnyObject[]> {
  try {
    return await listed(connected, await servedKind(connected, clusterKind))
  } catch (error) {
    if (isCaptError(error, 'CAPT_CLUSTER_API_MISSING')) return []
    throw error
  }
}

async function hasCluster(name: string, connected: Connected): Promise<boolean> {
  const kind = await servedKind(connected, clusterKind)
  return (await connected.objects.get(kind, { namespace: connected.namespace, name })) !== undefined
}

async function readCluster(name: string, connected: Connected): Promise<Scope> {
  const found = await readClusterObjects(await servedKind(connected, clusterKind), name, connected)
  const { applies, infrastructure, controlPlane, pools = [], deliveries } = found
  const others = [infrastructure, controlPlane, ...pools, ...deliveries].flatMap((one) => one ?? [])
  return { applies, others, clusters: [{ ...found, hasDelivery: deliveries.length > 0 }] }
}

async function listed<T extends AnyObject>({ objects, namespace }: Connected, kind: KindRef): Promise<readonly T[]> {
  const found = await Array.fromAsync(objects.list<T>(kind, { namespace }))
  return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
}

export async function observeWorkspace(
  { objects, namespace }: Connected,
  apply: WorkspaceTemplateApply,
  cloud: Cloud | undefined,
  nowMs: number,
): Promise<ObservedWorkspace> {
  const key = { namespace, name: apply.metadata.name }
  const exam = await examineWorkspace(objects, key, {
    status: apply.status?.state?.resources,
    workspaceId: apply.metadata.annotations?.[WORKSPACE_ID_ANNOTATION],
    countTagged: (_, workspaceId) => countTagged(apply, workspaceId, cloud),
  })
  return { apply, exam, cloud: await observeCloud(apply, exam, cloud), nowMs }
}

/** For a workspace of which nothing else is left. */
async function countTagged(
  apply: WorkspaceTemplateApply,
  workspaceId: string,
  cloud: Cloud | undefined,
): Promise<number | 'unavailable'> {
  if (!cloud || cloud.regionOf(apply) === undefined) return 'unavailable'
  try {
    const { tagged, silent } = await cloud.findTagged(apply, workspaceId, [])
    return tagged.length > 0 || silent.length === 0 ? tagged.length : 'unavailable'
  } catch (error) {
    if (!isCaptError(error)) throw error
    return 'unavailable'
  }
}

async function observeCloud(
  apply: WorkspaceTemplateApply,
  exam: WorkspaceExam,
  cloud: Cloud | undefined,
): Promise<CloudState> {
  if (!cloud) return { is: 'skipped' }
  const record = exam.record && !isUnreadable(exam.record) ? exam.record : undefined
  if (!record || !isInAws(exam, cloud.regionOf(apply))) return { is: 'elsewhere' }
  const regions = exam.state.is === 'whole' ? exam.state.identities.regions : []
  try {
    return { is: 'asked', ...(await cloud.findTagged(apply, record.workspaceId, regions)) }
  } catch (error) {
    if (!isCaptError(error)) throw error
    return { is: 'unknown', message: redact(messageOf(error)), hint: error.hint ?? '' }
  }
}
