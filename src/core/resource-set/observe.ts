// Reads what a ClusterResourceSet is about: the Clusters it selects, its sources, and what their bindings record.
import {
  type AnyObject,
  type ClusterFacts,
  type Condition,
  type ConfigMap,
  ConfigMapKind,
  clusterKind,
  clusterResourceSetKind,
  decodeData,
  readCluster,
  type Secret,
  SecretKind,
} from '#api'
import type { Objects, Projected } from '#kube'
import { keyedHash, matchesSelector } from '#lib'
import type { ConditionDraft, World } from '#runtime'
import type { Strategy } from './apply.ts'
import { type Binding, BindingKind, findEntry } from './binding.ts'

export const SET_FINALIZER = 'addons.cluster.x-k8s.io'
export const SetKind = clusterResourceSetKind('v1beta2')
export const SECRET_TYPE = 'addons.cluster.x-k8s.io/resource-set'

export interface ResourceSet extends AnyObject {
  readonly spec: {
    readonly clusterSelector: {
      readonly matchLabels?: Readonly<Record<string, string>>
      readonly matchExpressions?: readonly {
        readonly key: string
        readonly operator: string
        readonly values?: readonly string[]
      }[]
    }
    readonly resources?: readonly { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string }[]
    readonly strategy?: Strategy
  }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly deprecated?: { readonly v1beta1?: { readonly conditions?: readonly OldCondition[] } }
  }
}

interface OldCondition {
  readonly type: string
  readonly status: string
  readonly severity?: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime: string
}

export interface Source {
  readonly ref: { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string }
  readonly live: (ConfigMap & Secret) | undefined
  readonly isWrongType: boolean
  /** Undefined when the object has no data field. */
  readonly values: Readonly<Record<string, string>> | undefined
  readonly hash: string | undefined
}

export interface ObservedSet {
  readonly set: Projected<ResourceSet>
  readonly clusters: readonly ClusterFacts[]
  readonly sources: readonly Source[]
  readonly bindings: ReadonlyMap<string, Projected<Binding>>
  readonly nowMs: number
  /** What applying came to; filled in by the act of this reconcile, read by its status. */
  readonly outcome: { draft?: ConditionDraft; old?: Pick<OldCondition, 'reason' | 'severity' | 'message'> }
}

export function isSelected(
  selector: ResourceSet['spec']['clusterSelector'],
  labels: Readonly<Record<string, string>>,
): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector
  const isEmpty = Object.keys(matchLabels).length === 0 && matchExpressions.length === 0
  return !isEmpty && matchesSelector(selector, labels)
}

export async function observeSet(world: World, set: Projected<ResourceSet>): Promise<ObservedSet> {
  const { cache, objects, clock } = world
  const namespace = set.metadata.namespace!
  const clusters = cache
    .list(clusterKind('v1beta2'), { namespace })
    .map(readCluster)
    .filter((cluster) => !cluster.deleting && isSelected(set.spec.clusterSelector, cluster.labels))
  const isNeeded = clusters.length > 0 && !set.metadata.deletionTimestamp
  const sources = isNeeded
    ? await Promise.all((set.spec.resources ?? []).map((ref) => readSource(objects, namespace, ref)))
    : []
  const bindings = new Map<string, Projected<Binding>>()
  for (const cluster of clusters) {
    const binding = cache.get<Binding>(BindingKind, { namespace, name: cluster.name })
    if (binding) bindings.set(cluster.name, binding)
  }
  return { set, clusters, sources, bindings, nowMs: clock.now(), outcome: {} }
}

async function readSource(objects: Objects, namespace: string, ref: Source['ref']): Promise<Source> {
  const live = await objects.get<ConfigMap & Secret>(ref.kind === 'Secret' ? SecretKind : ConfigMapKind, {
    namespace,
    name: ref.name,
  })
  const isWrongType = ref.kind === 'Secret' && live !== undefined && live.type !== SECRET_TYPE
  const data = live?.data
  if (!data || Object.keys(data).length === 0) return { ref, live, isWrongType, values: undefined, hash: undefined }
  const values = ref.kind === 'Secret' ? decodeData(data) : data
  return { ref, live, isWrongType, values, hash: keyedHash(values) }
}

export function needsApply({ set }: Pick<ObservedSet, 'set'>, binding: Binding | undefined, source: Source): boolean {
  const entry = findEntry(binding?.spec.bindings, set.metadata.name, source.ref)
  if (!entry?.applied) return true
  return (set.spec.strategy ?? 'ApplyOnce') === 'Reconcile' && entry.hash !== source.hash
}
