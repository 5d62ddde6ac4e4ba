// ClusterResourceSets and their binding as capt writes and reads them. Sets are ours; the binding is core's, and is
// only ever read.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  clusterResourceSetKind,
  findCondition,
  type OwnerReference,
  type UnknownObject,
} from '#api'
import { isPlainObject, jsonEqual } from '#lib'
import type { DeliveredRow } from './delivery-seen.ts'
import { CLUSTER_LABEL, MANAGED_LABEL, PIPELINE_LABEL, STAGE_LABEL } from './names.ts'
import type { Part } from './render-part.ts'

export interface SetWish {
  readonly version: ClusterApiVersion
  readonly namespace: string
  readonly cluster: string
  readonly owner: OwnerReference
  readonly pipeline: string
  readonly stage: string
  readonly gateLabel: string | undefined
  readonly part: Part
}

export function renderSet(wish: SetWish): UnknownObject {
  const kind = clusterResourceSetKind(wish.version)
  return {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: {
      name: wish.part.set,
      namespace: wish.namespace,
      labels: {
        [CLUSTER_NAME_LABEL]: wish.cluster,
        [STAGE_LABEL]: wish.stage,
        [PIPELINE_LABEL]: wish.pipeline,
        [MANAGED_LABEL]: 'true',
      },
      ownerReferences: [wish.owner],
    },
    spec: specOf(wish),
  }
}

function specOf({ cluster, gateLabel, part }: Pick<SetWish, 'cluster' | 'gateLabel' | 'part'>) {
  return {
    // A label of our own next to the gate: the gate alone would select every Cluster that has it.
    clusterSelector: { matchLabels: { [CLUSTER_LABEL]: cluster, ...(gateLabel ? { [gateLabel]: 'true' } : {}) } },
    resources: resourcesOf(part),
    strategy: 'Reconcile',
  }
}

const resourcesOf = (part: Pick<Part, 'carriers'>) => part.carriers.map(({ kind, name }) => ({ kind, name }))

export type SetDifference = 'none' | 'resources' | 'selector'

/** Selector and strategy cannot be changed in place. */
export function compareSet(live: AnyObject, wish: Pick<SetWish, 'cluster' | 'gateLabel' | 'part'>): SetDifference {
  const { spec } = live as UnknownObject
  const wanted = specOf(wish)
  if (!isPlainObject(spec)) return 'selector'
  const { matchLabels } = isPlainObject(spec['clusterSelector']) ? spec['clusterSelector'] : {}
  if (!jsonEqual(matchLabels, wanted.clusterSelector.matchLabels) || spec['strategy'] !== wanted.strategy)
    return 'selector'
  return jsonEqual(spec['resources'], wanted.resources) ? 'none' : 'resources'
}

/** Whether the set carries just these. */
export function namesAll(live: AnyObject, part: Pick<Part, 'carriers'>): boolean {
  const { spec } = live as UnknownObject
  return isPlainObject(spec) && jsonEqual(spec['resources'], resourcesOf(part))
}

/** What the set's condition complains of; core puts the useful text into the older condition. */
export function complaintOf(set: AnyObject | undefined): string | undefined {
  const { status } = (set ?? {}) as { status?: unknown }
  if (!isPlainObject(status)) return undefined
  const deprecated = isPlainObject(status['deprecated']) ? status['deprecated']['v1beta1'] : undefined
  const old = isPlainObject(deprecated) ? findCondition(deprecated['conditions'], 'ResourcesApplied') : undefined
  const now = findCondition(status['conditions'], 'ResourcesApplied')
  const bad = [old, now].find((condition) => condition?.status === 'False')
  if (!bad) return undefined
  return bad.message === '' ? bad.reason : `${bad.reason}: ${bad.message}`
}

/**
 * Carriers that the set no longer names but the binding still records: core would skip them when they come back, although
 * something else was applied in between.
 */
export function isRemembered(live: AnyObject | undefined, binding: AnyObject | undefined, part: Part): boolean {
  const { spec } = (live ?? {}) as { spec?: unknown }
  if (!isPlainObject(spec) || !Array.isArray(spec['resources'])) return false
  const named: readonly unknown[] = spec['resources']
  const rows = readBinding(binding, part, new Map())
  return rows.some(
    (row) => row.bindingHash !== undefined && !named.some((one) => isPlainObject(one) && one['name'] === row.name),
  )
}

/** One row per carrier. `hashes` holds what is really in each carrier now. */
export function readBinding(
  binding: AnyObject | undefined,
  part: Part,
  hashes: ReadonlyMap<string, string>,
): readonly DeliveredRow[] {
  const { spec } = (binding ?? {}) as { spec?: unknown }
  const bindings: readonly unknown[] = isPlainObject(spec) && Array.isArray(spec['bindings']) ? spec['bindings'] : []
  const own = bindings.find((one) => isPlainObject(one) && one['clusterResourceSetName'] === part.set)
  const entries: readonly unknown[] = isPlainObject(own) && Array.isArray(own['resources']) ? own['resources'] : []
  return part.carriers.map((carrier) => {
    const found = entries.find(
      (one) => isPlainObject(one) && one['kind'] === carrier.kind && one['name'] === carrier.name,
    )
    const entry = isPlainObject(found) ? found : {}
    const bindingHash = typeof entry['hash'] === 'string' && entry['hash'] !== '' ? entry['hash'] : undefined
    const applied = entry['applied'] === true
    const ourHash = hashes.get(carrier.name) ?? carrier.hash
    return {
      set: part.set,
      kind: carrier.kind,
      name: carrier.name,
      applied,
      bindingHash,
      ourHash,
      equal: applied && bindingHash === ourHash,
    }
  })
}
