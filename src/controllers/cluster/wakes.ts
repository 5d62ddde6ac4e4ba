// Which objects a change wakes: those of the same Cluster, and those that own what changed.
import { type AnyObject, CLUSTER_NAME_LABEL, clusterKeyOf, type Key, keyText } from '#api'

/** `namespace/name` of the Cluster an object belongs to, by owner reference or by the label. */
export function clusterValues(object: AnyObject): readonly string[] {
  const key = clusterKeyOf(object)
  const label = object.metadata.labels?.[CLUSTER_NAME_LABEL]
  if (key) return [keyText(key)]
  return label === undefined ? [] : [keyText({ namespace: object.metadata.namespace ?? '', name: label })]
}

export function ownersOf(object: AnyObject, kind: string): readonly Key[] {
  const { namespace = '', ownerReferences = [] } = object.metadata
  return ownerReferences.filter((owner) => owner.kind === kind).map(({ name }) => ({ namespace, name }))
}
