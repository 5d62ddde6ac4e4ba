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
import { CLUSTER_LABEL, MANAGED_LABEL, PIPELINE_LABEL, STAGE_LABEL } from '../names.ts'
import type { DeliveredRow } from '../observed.ts'
import type { Part } from './render-part.ts'

interface SetOptions {
  readonly version: ClusterApiVersion
  readonly namespace: string
  readonly cluster: string
  readonly owner: OwnerReference
  readonly pipeline: string
  readonly stage: string
  readonly gateLabel: string | undefined
  readonly part: Part
}

export function renderSet(options: SetOptions): UnknownObject {
  const kind = clusterResourceSetKind(options.version)
  return {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: {
      name: options.part.set,
      namespace: options.namespace,
      labels: {
        [CLUSTER_NAME_LABEL]: options.cluster,
        [STAGE_LABEL]: options.stage,
        [PIPELINE_LABEL]: options.pipeline,
        [MANAGED_LABEL]: 'true',
      },
      ownerReferences: [options.owner],
    },
    spec: specOf(options),
  }
}

function specOf({ cluster, gateLabel, part }: Pick<SetOptions, 'cluster' | 'gateLabel' | 'part'>) {
  return {
    // A label of our own next to the gate: the gate alone would select every Cluster that has it.
    clusterSelector: { matchLabels: { [CLUSTER_LABEL]: cluster, ...(gateLabel ? { [gateLabel]: 'true' } : {}) } },
    resources: resourcesOf(part),
    strategy: 'Reconcile',
  }
}

const resourcesOf = (part: Pick<Part, 'payloads'>) => part.payloads.map(({ kind, name }) => ({ kind, name }))

type SetDifference = 'none' | 'resources' | 'selector'

/** Selector and strategy cannot be changed in place. */
export function compareSet(
  live: AnyObject,
  options: Pick<SetOptions, 'cluster' | 'gateLabel' | 'part'>,
): SetDifference {
  const { spec } = live as UnknownObject
  const wanted = specOf(options)
  if (!isPlainObject(spec)) return 'selector'
  const { matchLabels } = isPlainObject(spec['clusterSelector']) ? spec['clusterSelector'] : {}
  if (!jsonEqual(matchLabels, wanted.clusterSelector.matchLabels) || spec['strategy'] !== wanted.strategy)
    return 'selector'
  return jsonEqual(spec['resources'], wanted.resources) ? 'none' : 'resources'
}

/** Whether the set names exactly these payloads. */
export function namesAll(live: AnyObject, part: Pick<Part, 'payloads'>): boolean {
  const { spec } = live as UnknownObject
  return isPlainObject(spec) && jsonEqual(spec['resources'], resourcesOf(part))
}

/** The problem that the set's condition reports; core puts the useful text into the older condition. */
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
 * Payloads that the set no longer names but the binding still records: core would skip them when they come back, although
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

/** One row per payload. `hashes` holds what is really in each payload now. */
export function readBinding(
  binding: AnyObject | undefined,
  part: Part,
  hashes: ReadonlyMap<string, string>,
): readonly DeliveredRow[] {
  const { spec } = (binding ?? {}) as { spec?: unknown }
  const bindings: readonly unknown[] = isPlainObject(spec) && Array.isArray(spec['bindings']) ? spec['bindings'] : []
  const own = bindings.find((one) => isPlainObject(one) && one['clusterResourceSetName'] === part.set)
  const entries: readonly unknown[] = isPlainObject(own) && Array.isArray(own['resources']) ? own['resources'] : []
  return part.payloads.map((payload) => {
    const found = entries.find(
      (one) => isPlainObject(one) && one['kind'] === payload.kind && one['name'] === payload.name,
    )
    const entry = isPlainObject(found) ? found : {}
    const bindingHash = typeof entry['hash'] === 'string' && entry['hash'] !== '' ? entry['hash'] : undefined
    const applied = entry['applied'] === true
    const ourHash = hashes.get(payload.name) ?? payload.hash
    return {
      set: part.set,
      kind: payload.kind,
      name: payload.name,
      applied,
      bindingHash,
      ourHash,
      equal: applied && bindingHash === ourHash,
    }
  })
}
