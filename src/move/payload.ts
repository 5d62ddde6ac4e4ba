// What a move copies and what it then deletes here. The two differ: what other clusters use as well stays, what a home
// made for itself alone is not taken along, and the pipeline that comes with capt is there already. Pure.
import { AddonDelivery, AddonPipeline, type AnyObject, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { jsonEqual } from '#lib'
import { idOf, type Node, nodesOf, referredFrom } from './graph.ts'

export interface Payload {
  readonly copied: readonly Node[]
  readonly deleted: readonly Node[]
}

/** `shippedThere`: the pipeline that comes with capt, as the target has it. */
export function pack(
  all: readonly Node[],
  clusters: ReadonlySet<string>,
  shippedThere: AddonPipeline | undefined,
): Payload {
  const nodes = nodesOf(all, clusters)
  const own = shippedThere ? nodes.filter((node) => !isShipped(node)) : nodes
  const copied = own.filter((node) => !isSimulated(node))
  const shippedHere = nodes.find(isShipped)
  return {
    copied: shippedThere && shippedHere ? copied.map((node) => follow(node, shippedHere.object, shippedThere)) : copied,
    deleted: withoutShared(all, own),
  }
}

/** Made by the simulation of one home for that home; its maker ends it when the Cluster is gone. */
export const isSimulated = ({ object }: Node): boolean =>
  object.metadata.labels?.['capt.appthrust.com/simulated'] === 'true'

export const MANAGED_LABEL = 'capt.appthrust.com/managed'
const isShipped = ({ kind, object }: Node): boolean =>
  kind.kind === AddonPipeline.kind && object.metadata.labels?.[MANAGED_LABEL] === 'true'

/** Whether add-ons would change by the move, because the shipped pipeline was changed on one side. */
export function differs(all: readonly Node[], shippedThere: AddonPipeline | undefined): boolean {
  const here = all.find(isShipped)?.object as AddonPipeline | undefined
  return here !== undefined && shippedThere !== undefined && !jsonEqual(here.spec, shippedThere.spec)
}

function follow(node: Node, here: AnyObject, there: AnyObject): Node {
  if (node.kind.kind !== AddonDelivery.kind) return node
  const delivery = node.object as AddonDelivery
  const { name, namespace = delivery.metadata.namespace } = delivery.spec.pipelineRef
  if (name !== here.metadata.name || namespace !== here.metadata.namespace) return node
  const isNear = there.metadata.namespace === delivery.metadata.namespace
  const pipelineRef = { name: there.metadata.name, ...(isNear ? {} : { namespace: there.metadata.namespace ?? '' }) }
  const followed: AddonDelivery = { ...delivery, spec: { ...delivery.spec, pipelineRef } }
  return { kind: node.kind, object: followed }
}

function withoutShared(all: readonly Node[], moving: readonly Node[]): readonly Node[] {
  const going = new Set(moving)
  for (;;) {
    const staying = all.filter((node) => !going.has(node))
    const needed = new Set(staying.flatMap(({ object }) => referredFrom(object)))
    const uids = new Set(staying.map(({ object }) => object.metadata.uid))
    const shared = [...going].filter((node) => isNeeded(node, needed, uids) || isUsedElsewhere(node, going))
    if (shared.length === 0) return moving.filter((node) => going.has(node))
    for (const node of shared) going.delete(node)
  }
}

function isNeeded({ kind, object }: Node, needed: ReadonlySet<string>, uids: ReadonlySet<string | undefined>): boolean {
  if (needed.has(idOf(kind.kind, object.metadata.name))) return true
  return object.metadata.ownerReferences?.some(({ uid }) => uids.has(uid)) ?? false
}

/** Applies of other namespaces were not read; the template counts them. */
function isUsedElsewhere({ kind, object }: Node, going: ReadonlySet<Node>): boolean {
  if (kind.kind !== WorkspaceTemplate.kind) return false
  const { usedBy = 0 } = (object as WorkspaceTemplate).status ?? {}
  const id = idOf(kind.kind, object.metadata.name)
  const users = [...going].filter(
    (node) => node.kind.kind === WorkspaceTemplateApply.kind && referredFrom(node.object).includes(id),
  )
  return usedBy > users.length
}
