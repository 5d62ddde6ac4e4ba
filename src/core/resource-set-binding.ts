// The record of what sets brought to one Cluster. Its state is in spec, as in core.
import { type AnyObject, apiVersionOf, clusterResourceSetBindingKind, type OwnerReference } from '#api'

export interface BindingResource {
  readonly kind: string
  readonly name: string
  readonly hash?: string
  readonly lastAppliedTime?: string
  readonly applied: boolean
}

export interface Binding extends AnyObject {
  readonly spec: {
    readonly clusterName: string
    readonly bindings?: readonly {
      readonly clusterResourceSetName: string
      readonly resources?: readonly BindingResource[]
    }[]
  }
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
  binding: Binding | undefined,
  set: string,
  ref: { readonly kind: string; readonly name: string },
): BindingResource | undefined {
  const own = binding?.spec.bindings?.find((one) => one.clusterResourceSetName === set)
  return own?.resources?.find((one) => one.kind === ref.kind && one.name === ref.name)
}

/** Entries of references that left the set stay, as in core. */
export function withEntry(
  bindings: Binding['spec']['bindings'],
  set: string,
  entry: BindingResource,
): NonNullable<Binding['spec']['bindings']> {
  const all = bindings ?? []
  const own = all.find((one) => one.clusterResourceSetName === set)
  const others = (own?.resources ?? []).filter((one) => one.kind !== entry.kind || one.name !== entry.name)
  const position = (own?.resources ?? []).findIndex((one) => one.kind === entry.kind && one.name === entry.name)
  const resources = position < 0 ? [...others, entry] : [...others.slice(0, position), entry, ...others.slice(position)]
  const updated = { clusterResourceSetName: set, resources }
  return own ? all.map((one) => (one === own ? updated : one)) : [...all, updated]
}

export function withoutSet(
  bindings: Binding['spec']['bindings'],
  set: string,
): NonNullable<Binding['spec']['bindings']> {
  return (bindings ?? []).filter((one) => one.clusterResourceSetName !== set)
}
