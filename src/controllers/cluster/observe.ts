// Reads everything that a decision about a CAPTCluster needs: from caches, and from AWS before its name is chosen.
import {
  type CAPTCluster,
  CAPTControlPlane,
  CLUSTER_FINALIZER,
  type KindRef,
  type ObjectRef,
  pauseOf,
  WorkspaceTemplateApply,
} from '#api'
import type { Projected } from '#kube'
import { hasFinalizer, lifecycleOf } from '#runtime'
import { type ApplyFacts, readApply } from '../shared/apply.ts'
import { BY_CLUSTER, clusterNameOf, ownerClusterOf } from '../shared/owner-cluster.ts'
import type { ClusterPart } from '../shared/wakes.ts'
import type { NameChoice } from './name/choose.ts'
import { knownName, type NamePorts, observeName } from './name/observe.ts'
import { vpcApplyName } from './variables.ts'

/** The facts of the Cluster that are observed; a change of any other does not trigger a reconcile. */
export const FACTS_READ = ['uid', 'paused', 'deleting', 'infrastructureRef'] as const

export interface Observed {
  readonly object: Projected<CAPTCluster>
  /** Absent until Cluster API has set the owner reference, and when the Cluster is gone. */
  readonly cluster: ClusterPart<typeof FACTS_READ> | undefined
  readonly clusterName: string
  /** Name in AWS. Undefined while nothing needs one, and for an object that is not reconciled. */
  readonly name: NameChoice | undefined
  readonly apply: Projected<WorkspaceTemplateApply> | undefined
  readonly facts: ApplyFacts
  readonly controlPlanes: readonly ObjectRef[]
  readonly nowMs: number
}

export async function observeCluster(
  ports: NamePorts,
  clusterKind: KindRef,
  object: Projected<CAPTCluster>,
  nowMs: number,
): Promise<Observed> {
  const { cache } = ports
  const namespace = object.metadata.namespace ?? ''
  const clusterName = clusterNameOf(object)
  const name = vpcApplyName(object, clusterName)
  const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  const controlPlanes = cache
    .list<CAPTControlPlane>(CAPTControlPlane, { index: BY_CLUSTER, value: `${namespace}/${clusterName}` })
    .map((plane) => ({ name: plane.metadata.name }))
  const cluster = ownerClusterOf(cache, clusterKind, object)
  const isActive = lifecycleOf(object, CLUSTER_FINALIZER, pauseOf(cluster, object)) === 'active'
  const mayChoose = isActive && cluster !== undefined && hasFinalizer(object, CLUSTER_FINALIZER)
  return {
    object,
    cluster,
    clusterName,
    name: mayChoose ? await observeName(ports, object, nowMs) : toChoice(knownName(cache, object)),
    apply,
    facts: readApply(apply),
    controlPlanes,
    nowMs,
  }
}

const toChoice = (name: string | undefined): NameChoice | undefined =>
  name === undefined ? undefined : { is: 'chosen', name }
