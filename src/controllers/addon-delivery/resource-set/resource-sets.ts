// ClusterResourceSets and their binding as capt writes and reads them. Sets are ours; the binding is core's, and is
// only ever read.
import {
  type AnyObject,
  apiVersionOf,
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  clusterResourceSetKind,
  findCondition,
  type OwnerReference,
  type UnknownObject,
} from '#api'
import { fieldsOf, jsonEqual } from '#lib'
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
    apiVersion: apiVersionOf(kind),
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
  const spec = fieldsOf((live as UnknownObject)['spec'])
  const wanted = specOf(options)
  const { matchLabels } = fieldsOf(spec['clusterSelector'])
  if (!jsonEqual(matchLabels, wanted.clusterSelector.matchLabels) || spec['strategy'] !== wanted.strategy)
    return 'selector'
  return jsonEqual(spec['resources'], wanted.resources) ? 'none' : 'resources'
}

/** Whether the set names exactly these payloads. */
export function namesAll(live: AnyObject, part: Pick<Part, 'payloads'>): boolean {
  return jsonEqual(fieldsOf((live as UnknownObject)['spec'])['resources'], resourcesOf(part))
}

/** The problem that the set's condition reports; core puts the useful text into the older condition. */
export function complaintOf(set: AnyObject | undefined): string | undefined {
  const { conditions, deprecated } = fieldsOf((set as UnknownObject | undefined)?.['status'])
  const old = findCondition(fieldsOf(fieldsOf(deprecated)['v1beta1'])['conditions'], 'ResourcesApplied')
  const now = findCondition(conditions, 'ResourcesApplied')
  const bad = [old, now].find((condition) => condition?.status === 'False')
  if (!bad) return undefined
  return bad.message === '' ? bad.reason : `${bad.reason}: ${bad.message}`
}

/**
 * Payloads that the set no longer names but the binding still records: core would skip them when they come back, although
 * something else was applied in between.
 */
export function isRemembered(live: AnyObject | undefined, binding: AnyObject | undefined, part: Part): boolean {
  const { resources } = fieldsOf((live as UnknownObject | undefined)?.['spec'])
  if (!Array.isArray(resources)) return false
  const named = resources.map((one) => fieldsOf(one)['name'])
  const rows = readBinding(binding, part, new Map())
  return rows.some((row) => row.bindingHash !== undefined && !named.includes(row.name))
}

/** One row per payload. `hashes` holds what is really in each payload now. */
export function readBinding(
  binding: AnyObject | undefined,
  part: Part,
  hashes: ReadonlyMap<string, string>,
): readonly DeliveredRow[] {
  const listIn = (value: unknown) => (Array.isArray(value) ? value.map(fieldsOf) : [])
  const bindings = listIn(fieldsOf((binding as UnknownObject | undefined)?.['spec'])['bindings'])
  const entries = listIn(bindings.find((one) => one['clusterResourceSetName'] === part.set)?.['resources'])
  return part.payloads.map((payload) => {
    const entry = entries.find((one) => one['kind'] === payload.kind && one['name'] === payload.name) ?? {}
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
