// What a move looks at before it changes anything: what both sides serve, what is there, and what stands in the way.
import {
  AddonPipeline,
  ALL_KINDS,
  type AnyObject,
  CLUSTER_API_VERSIONS,
  CLUSTER_GROUP,
  ConfigMapKind,
  clusterKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  isDeletedForMove,
  type KindRef,
  keyOf,
  kindRef,
  machinePoolKind,
  readCluster,
  SecretKind,
} from '#api'
import { type Connected, ignore, type Objects, servedVersions } from '#kube'
import { CaptError, jsonEqual } from '#lib'
import { isCluster, isLabelled, type Node } from './graph.ts'
import { MANAGED_LABEL } from './payload.ts'

/** Cluster API kinds in the newest version that both sides serve; kinds that the target lacks are refused when needed. */
export async function kindsServedBy(from: Connected, to: Connected): Promise<readonly KindRef[]> {
  const shared = async (
    make: (version: (typeof CLUSTER_API_VERSIONS)[number]) => KindRef,
  ): Promise<readonly KindRef[]> => {
    const here = await servedVersions(from, make('v1beta2').group)
    const there = await servedVersions(to, make('v1beta2').group)
    const version = CLUSTER_API_VERSIONS.find((one) => here.includes(one) && there.includes(one))
    if (version) return [make(version)]
    if (here.length === 0) return []
    throw new CaptError('CAPT_CLUSTER_API_MISSING', `${to.server} does not serve ${make('v1beta2').kind}`, {
      hint: 'run clusterctl init there first, with the providers of capt',
    })
  }
  const foreign = await Promise.all(
    [clusterKind, machinePoolKind, clusterResourceSetKind, clusterResourceSetBindingKind].map(shared),
  )
  return [...foreign.flat(), ...ALL_KINDS, SecretKind, ConfigMapKind]
}

/** The pipeline that comes with capt, as the target has it: in the namespace where capt runs there. */
export async function shippedPipeline({ objects }: Connected): Promise<AddonPipeline | undefined> {
  const selection = { labelSelector: `${MANAGED_LABEL}=true` }
  const shipped = Array.fromAsync(objects.list<AddonPipeline>(AddonPipeline, selection))
  return (await shipped.catch(ignore('KindNotServed', 'NotFound', 'Forbidden')))?.[0]
}

export async function readAll({ objects, namespace }: Connected, kinds: readonly KindRef[]): Promise<readonly Node[]> {
  const nodes: Node[] = []
  for (const kind of kinds) {
    const found = Array.fromAsync(objects.list<AnyObject>(kind, { namespace }), (object) => ({ kind, object }))
    nodes.push(...((await found.catch(ignore('KindNotServed', 'NotFound'))) ?? []))
  }
  return nodes
}

export function chooseClusters(
  all: readonly Node[],
  wanted: readonly string[],
  { namespace, server }: Connected,
): Set<string> {
  const present = all.filter(isCluster).map(({ object }) => object.metadata.name)
  const missing = wanted.filter((name) => !present.includes(name))
  if (missing.length > 0 || present.length === 0)
    throw new CaptError(
      'CAPT_KUBE_NOT_FOUND',
      missing.length > 0
        ? `There is no Cluster "${missing[0]}" in namespace ${namespace}`
        : `There is no Cluster in namespace ${namespace} of ${server}`,
      { hint: 'capt get clusters -A shows where there are some' },
    )
  const chosen = new Set(wanted.length > 0 ? wanted : present)
  for (const { object } of all.filter(isCluster).filter((node) => chosen.has(node.object.metadata.name))) {
    if (isDeletedForMove(object)) continue
    const why = object.metadata.deletionTimestamp ? 'is being deleted' : readCluster(object).paused ? 'is paused' : ''
    if (why === '') continue
    throw new CaptError('CAPT_MOVE_REFUSED', `Cluster ${object.metadata.name} ${why}`, {
      hint: why === 'is paused' ? 'set spec.paused to false first: a move pauses by itself' : 'wait until it is gone',
    })
  }
  return chosen
}

/** Core's own machines need its controllers in the target, and keep their owners only when core's command moves them. */
export async function refuseCoreMachines(from: Connected, clusters: ReadonlySet<string>): Promise<void> {
  const served = await servedVersions(from, CLUSTER_GROUP)
  const version = CLUSTER_API_VERSIONS.find((one) => served.includes(one))
  if (!version) return
  const kinds = ['MachineDeployment', 'MachineSet', 'Machine'].map((kind) =>
    kindRef(`${CLUSTER_GROUP}/${version}`, kind),
  )
  const held = (await readAll(from, kinds)).find(({ object }) => isLabelled(object, clusters))
  if (!held) return
  throw new CaptError(
    'CAPT_MOVE_REFUSED',
    `${held.kind.kind} ${held.object.metadata.name} of core is not taken along`,
    {
      hint: 'move it between management clusters with clusterctl move, or delete it first; nothing was changed',
    },
  )
}

/** What is there already stays as it is, so it must be the same; a Cluster of that name is never overwritten. */
export async function refuseTaken(nodes: readonly Node[], objects: Objects): Promise<void> {
  for (const { kind, object } of nodes) {
    const there = await objects.get<AnyObject>(kind, keyOf(object)).catch(ignore('KindNotServed'))
    if (!there || isSame(there, object)) continue
    throw new CaptError('CAPT_MOVE_REFUSED', `${kind.kind} ${object.metadata.name} exists in the target and differs`, {
      hint: 'rename or delete it there, then move again; nothing was changed',
    })
  }
}

function isSame(there: AnyObject, here: AnyObject): boolean {
  if (here.kind === 'Cluster') return false
  const content = ({ metadata: _, status: __, ...rest }: AnyObject & { readonly status?: unknown }) => rest
  return jsonEqual(content(there), content(here))
}
