// Somebody deleted a part of a cluster that lives. Destroying it would take the cluster down behind Cluster API's back,
// so the part holds on, says so, and goes only with the Cluster or when told explicitly.
import { type AnyObject, type ClusterFacts, type ContractRef, groupOf } from '#api'

export const CONFIRM_DELETE_ANNOTATION = 'capt.appthrust.com/confirm-delete'

/** Why the part is not deleted, in words; undefined when it may go. */
export function heldBy(
  object: AnyObject,
  cluster: ClusterFacts | undefined,
  referenced: ContractRef | undefined,
): string | undefined {
  if (!cluster || cluster.deleting) return undefined
  const { name, annotations = {} } = object.metadata
  const isReferenced =
    referenced?.group === groupOf(object.apiVersion) && referenced.kind === object.kind && referenced.name === name
  if (!isReferenced || annotations[CONFIRM_DELETE_ANNOTATION] === name) return undefined
  return [
    `${object.kind} ${name} was deleted, but Cluster ${cluster.name} still needs it: nothing is destroyed.`,
    `Delete Cluster ${cluster.name} to destroy everything,`,
    `or set the annotation ${CONFIRM_DELETE_ANNOTATION}=${name} to destroy this part alone`,
  ].join(' ')
}
