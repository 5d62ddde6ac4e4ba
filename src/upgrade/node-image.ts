// The image of Karpenter's nodes in an upgrade. The control plane hands out the one that was pinned for its Kubernetes version; a
// person may choose another for one cluster, which its delivery then names.
import { AddonDelivery, type AddonPipeline, type CAPTControlPlane, conditionOf, type Key, keyOf } from '#api'
import type { Objects } from '#kube'
import { CaptError, isPlainObject } from '#lib'
import type { Step } from './plan.ts'

const VARIABLE = 'NODE_IMAGE'
const PINNED = /^[a-z0-9]+@v[0-9][0-9.]*$/

export interface NodeImageState {
  readonly delivery: Key
  /** Pinned by the control plane. */
  readonly offered: string | undefined
  /** Chosen for this cluster; it wins. */
  readonly chosen: string | undefined
  /** What the pool waits for; undefined once it boots the image. */
  readonly waiting: string | undefined
}

/** Undefined where no stage boots what the control plane hands out. */
export function nodeImageOf(
  delivery: AddonDelivery,
  pipeline: AddonPipeline | undefined,
  controlPlane: CAPTControlPlane,
): NodeImageState | undefined {
  const stage = pipeline?.spec.stages.find(({ nodePool }) => nodePool && nodePool.amiAlias === undefined)
  const status = delivery.status?.stages?.find(({ name }) => name === stage?.name)
  if (!stage || status?.startedAt === undefined) return undefined
  const { outputs } = (controlPlane.status?.workspaceStatus?.atProvider ?? {}) as { outputs?: { karpenter?: unknown } }
  const offered = isPlainObject(outputs?.karpenter) ? outputs.karpenter['node_image'] : undefined
  const seen = conditionOf(delivery, 'Ready')?.observedGeneration
  const isCurrent = seen === undefined || seen >= (delivery.metadata.generation ?? 0)
  const isThere = isCurrent && status.state === 'Healthy'
  return {
    delivery: keyOf(delivery),
    offered: typeof offered === 'string' ? offered : undefined,
    chosen: delivery.spec.variables?.[VARIABLE],
    waiting: isThere ? undefined : `stage ${stage.name} is ${status.state}: ${status.message ?? ''}`,
  }
}

/** `wanted` is what was asked for. Without it a newer pin of the control plane takes the place of a chosen image. */
export function imageStep(state: NodeImageState | undefined, wanted: string | undefined): Step | undefined {
  if (wanted !== undefined) checkWanted(state, wanted)
  if (!state) return undefined
  const { offered, chosen, delivery } = state
  const from = chosen ?? offered
  const to = wanted ?? (chosen !== undefined && offered !== undefined && isNewer(offered, chosen) ? offered : from)
  if (from === undefined || to === undefined || to === from) return undefined
  const how = `spec.variables.${VARIABLE} of AddonDelivery ${delivery.name}`
  return { ...BASE, from, to, by: 'capt', how: to === offered ? `takes ${how} away` : how }
}

/** What a new Kubernetes version does to it, before the answer is known. */
export function followingImage(state: NodeImageState | undefined, kubernetes: string): readonly Step[] {
  const from = state?.chosen ?? state?.offered
  if (state?.offered === undefined || from === undefined) return []
  const how = 'chosen again in the run of the control plane, because images are made for a Kubernetes version'
  return [{ ...BASE, from, to: `what EKS recommends for ${kubernetes}`, by: 'itself', how }]
}

const BASE = {
  what: 'node-image',
  name: 'Node image',
  evidence: 'Karpenter replaces the nodes of the pool, within its disruption budgets',
} as const

/** Of one family; the date decides. */
function isNewer(a: string, b: string): boolean {
  const [family, version = ''] = a.split('@')
  const [other, than = ''] = b.split('@')
  return family === other && version > than
}

function checkWanted(state: NodeImageState | undefined, wanted: string): void {
  const refused = (message: string, hint: string) => new CaptError('CAPT_UPGRADE_REFUSED', message, { hint })
  if (!PINNED.test(wanted))
    throw refused(`--node-image "${wanted}" is not the alias of one image`, 'write it like al2023@v20261102')
  if (!state)
    throw refused(
      '--node-image: no node pool of this cluster boots what its control plane hands out',
      'amiAlias of the nodePool stage in its AddonPipeline names the image: change it there, or take it out',
    )
}

export async function setNodeImage(objects: Objects, { delivery, offered }: NodeImageState, to: string): Promise<void> {
  const variables = { [VARIABLE]: to === offered ? null : to }
  await objects.patch(AddonDelivery, delivery, { type: 'merge', body: { spec: { variables } } })
}
