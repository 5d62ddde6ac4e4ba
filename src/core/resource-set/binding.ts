// The record of what sets brought to one Cluster. Its state is in spec, as in core.
import { type AnyObject, apiVersionOf, clusterResourceSetBindingKind, type OwnerReference } from '#api'

interface BindingResource {
  readonly kind: string
  readonly name: string
  readonly hash?: string
  readonly lastAppliedTime?: string
  readonly applied: boolean
}

type Bindings = readonly {
  readonly clusterResourceSetName: string
  readonly resources?: readonly BindingResource[]
}[]

export interface Binding extends AnyObject {
  readonly spec: { readonly clusterName: string; readonly bindings?: Bindings }
}

export const BindingKind = clusterResourceSetBindingKind('v1beta2')

export function newBinding(
  cluster: { readonly namespace: string; readonly name: string },
  owner: OwnerReference,
): Binding {
  return {
    apiVersion: apiVersionOf(BindingKind),
    kind: BindingKind.kind,
    metadata: { name: cluster.name, namespace: cluster.namespace, ownerReferences: [owner] },
    spec: { clusterName: cluster.name, bindings: [] },
  }
}

export function findEntry(
  bindings: Bindings = [],
  set: string,
  ref: Pick<BindingResource, 'kind' | 'name'>,
): BindingResource | undefined {
  const own = bindings.find((one) => one.clusterResourceSetName === set)
  return own?.resources?.find((one) => one.kind === ref.kind && one.name === ref.name)
}

/** Entries of references that left the set stay, as in core. */
function withEntry(bindings: Bindings = [], set: string, entry: BindingResource): Bindings {
  const own = bindings.find((one) => one.clusterResourceSetName === set)
  const known = findEntry(bindings, set, entry)
  const entries = own?.resources ?? []
  const resources = known ? entries.map((one) => (one === known ? entry : one)) : [...entries, entry]
  const updated = { clusterResourceSetName: set, resources }
  return own ? bindings.map((one) => (one === own ? updated : one)) : [...bindings, updated]
}

/** A failed attempt that failed in the same way before is not recorded again: its time alone would wake every set. */
export function withAttempt(bindings: Bindings | undefined, set: string, entry: BindingResource): Bindings | undefined {
  const known = findEntry(bindings, set, entry)
  const isSame = known !== undefined && !known.applied && !entry.applied && (known.hash ?? '') === (entry.hash ?? '')
  return isSame ? bindings : withEntry(bindings, set, entry)
}

/** Whether an update leaves no set with more to do: entries came, were applied, or were tried again. */
export function asksForNothing(now: Binding, before: Binding): boolean {
  const entries = ({ spec }: Binding) =>
    (spec.bindings ?? []).flatMap(({ clusterResourceSetName: set, resources = [] }) =>
      resources.map((one) => [`${set}/${one.kind}/${one.name}`, one] as const),
    )
  const current = new Map(entries(now))
  if (now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp) return false
  return entries(before).every(([id, was]) => {
    const is = current.get(id)
    return is !== undefined && (is.applied || (!was.applied && is.hash === was.hash))
  })
}

export function withoutSet(bindings: Bindings = [], set: string): Bindings {
  return bindings.filter((one) => one.clusterResourceSetName !== set)
}
