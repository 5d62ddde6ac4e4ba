// One object as a branch: the tree of a cluster, the story of an apply, or the conditions of any other kind.
import {
  AddonDelivery,
  ALL_KINDS,
  type AnyObject,
  clusterKind,
  conditionOf,
  type KindRef,
  notFound,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { type Connected, servedKind } from '#kube'
import {
  applyBranch,
  type Branch,
  type ClusterObjects,
  clusterTree,
  DELIVERY_HEAD,
  deliveryBranch,
  deliveryRows,
  type RenderOptions,
  readClusterObjects,
  renderStops,
  renderTable,
  renderTree,
  stateOf,
  stopOf,
} from '#view'

/** What is shown of one object, as data and as text. */
export interface Described {
  readonly tree: Branch
  /** Tables for those who ask for more. */
  readonly tables: readonly { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }[]
}

export async function describeObject(kind: KindRef, name: string, connected: Connected): Promise<Described> {
  if (kind.kind === 'Cluster') return describeCluster(name, connected)
  const { objects, namespace } = connected
  const object = await objects.get<AnyObject>(kind, { namespace, name })
  if (!object) throw notFound(kind, { namespace, name })
  const isDelivery = object.kind === AddonDelivery.kind
  return {
    tree: branchOf(object, await appliesOf(object, connected)),
    tables: [
      { head: ['CONDITION', 'STATUS', 'REASON', 'MESSAGE'], rows: conditionRows(object) },
      ...(isDelivery ? [{ head: DELIVERY_HEAD, rows: deliveryRows(object as AddonDelivery) }] : []),
    ],
  }
}

async function describeCluster(name: string, connected: Connected): Promise<Described> {
  const objects = await readClusterObjects(await servedKind(connected, clusterKind), name, connected)
  return {
    tree: clusterTree(objects),
    tables: [
      { head: DELIVERY_HEAD, rows: objects.deliveries.flatMap(deliveryRows) },
      { head: ['TEMPLATE', 'VERSION', 'TAGS', 'DESCRIPTION'], rows: await templateRows(objects, connected) },
    ],
  }
}

/** Tree and stops; the tables only where details are asked for. */
export function renderDescribed({ tree, tables }: Described, options: RenderOptions): string {
  const shown = options.isVerbose ? tables.filter(({ rows }) => rows.length > 0) : []
  return [
    renderTree(tree, options),
    renderStops(tree, options),
    ...shown.map(({ head, rows }) => `\n${renderTable(head, rows)}`),
  ].join('')
}

/** Description, version and tags of the templates that a cluster is made from. */
async function templateRows(found: ClusterObjects, connected: Connected): Promise<string[][]> {
  const rows = new Map<string, string[]>()
  for (const apply of found.applies) {
    const { name, namespace = connected.namespace } = apply.spec.templateRef
    const template = await connected.objects.get<WorkspaceTemplate>(WorkspaceTemplate, { namespace, name })
    const about = template?.spec.template.metadata
    const tags = Object.entries(about?.tags ?? {}).map(([key, value]) => `${key}=${value}`)
    rows.set(`${namespace}/${name}`, [
      name,
      about?.version ?? '',
      tags.join(','),
      template ? (about?.description ?? '') : 'does not exist',
    ])
  }
  return [...rows.values()]
}

interface WithConditions extends AnyObject {
  readonly status?: {
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[]
  }
}

function conditionRows({ status }: WithConditions): string[][] {
  return (status?.conditions ?? []).map(({ type, status: holds, reason, message }) => [type, holds, reason, message])
}

/** The Terraform of an object, where it has some: why it waits is there. */
async function appliesOf({ metadata: { uid } }: AnyObject, { objects, namespace }: Connected) {
  const all = await Array.fromAsync(objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace }))
  return all.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
}

function branchOf(object: AnyObject, applies: readonly WorkspaceTemplateApply[]): Branch {
  if (object.kind === WorkspaceTemplateApply.kind) return applyBranch(object as WorkspaceTemplateApply)
  if (object.kind === AddonDelivery.kind) return deliveryBranch(object as AddonDelivery)
  const state = stateOf(object)
  const ready = conditionOf(object, 'Ready')
  const stop = hasConditions(object) ? stopOf(object, state) : undefined
  return {
    name: `${object.kind}/${object.metadata.name}`,
    state,
    word: state,
    fact: ready?.message ?? '',
    ...(stop ? { stop, label: ready?.reason ?? '' } : {}),
    ...(ready ? { since: ready.lastTransitionTime } : {}),
    children: applies.map(applyBranch),
  }
}

/** A template without a status has nothing to wait for. */
function hasConditions({ kind }: AnyObject): boolean {
  return ALL_KINDS.find((one) => one.kind === kind)?.status !== undefined
}
