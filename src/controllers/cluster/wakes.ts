// Which objects a change wakes: those of the same Cluster, and those that own what changed.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  clusterKeyOf,
  type Key,
  keyText,
  readCluster,
} from '#api'
import { jsonEqual } from '#lib'

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

/** What somebody knows of a Cluster who is woken by these facts alone. */
export type ClusterPart<F extends readonly (keyof ClusterFacts)[]> = Pick<
  ClusterFacts,
  'namespace' | 'name' | F[number]
>

/** A change of a Cluster that alters none of the facts that somebody reads: its other parts tell of themselves there. */
export function isSameIn(facts: readonly (keyof ClusterFacts)[]): (now: AnyObject, before: AnyObject) => boolean {
  return (now, before) => {
    const [is, was] = [readCluster(now), readCluster(before)]
    return facts.every((fact) => jsonEqual(is[fact], was[fact]))
  }
}
