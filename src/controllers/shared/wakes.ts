// Watch predicates: which objects a change reconciles, and which changes are ignored.
import { type AnyObject, type ClusterFacts, type Key, readCluster } from '#api'
import { jsonEqual } from '#lib'

export function ownersOf(object: AnyObject, kind: string): readonly Key[] {
  const { namespace = '', ownerReferences = [] } = object.metadata
  return ownerReferences.filter((owner) => owner.kind === kind).map(({ name }) => ({ namespace, name }))
}

/** The part of a Cluster that a controller observes. */
export type ClusterPart<F extends readonly (keyof ClusterFacts)[]> = Pick<
  ClusterFacts,
  'namespace' | 'name' | F[number]
>

/** What nodes observe of their Cluster; a change of any other fact does not trigger a reconcile. */
export const NODE_FACTS = [
  'uid',
  'paused',
  'deleting',
  'infrastructureRef',
  'controlPlaneRef',
  'controlPlaneInitialized',
  'annotations',
] as const

/** Watch predicate: ignores changes of a Cluster that alter none of these facts. */
export function isSameIn(facts: readonly (keyof ClusterFacts)[]): (now: AnyObject, before: AnyObject) => boolean {
  return (now, before) => {
    const [is, was] = [readCluster(now), readCluster(before)]
    return facts.every((fact) => jsonEqual(is[fact], was[fact]))
  }
}
