// Somebody deleted a part of a cluster that lives. Destroying it would take the cluster down behind Cluster API's back,
// so the part holds on, says so, and goes only with the Cluster or when told explicitly.
import { type AnyObject, type ClusterFacts, type ContractRef, groupOf } from '#api'
import { type Decision, waiting } from '#runtime'
import { secondsLeft } from './deadline.ts'

export const CONFIRM_DELETE_ANNOTATION = 'capt.appthrust.com/confirm-delete'
/** The deletion of the Cluster comes by another watch and may be seen a moment later than ours. */
const GRACE_SECONDS = 5

/** Why the part is not deleted; undefined when it may go. */
export function decideHold(
  object: AnyObject,
  cluster: Pick<ClusterFacts, 'name' | 'deleting'> | undefined,
  referenced: ContractRef | undefined,
  nowMs: number,
): Decision<never> | undefined {
  if (!cluster || cluster.deleting) return undefined
  const { name, annotations = {} } = object.metadata
  const isReferenced =
    referenced?.group === groupOf(object.apiVersion) && referenced.kind === object.kind && referenced.name === name
  if (!isReferenced || annotations[CONFIRM_DELETE_ANNOTATION] === name) return undefined
  const graceSeconds = secondsLeft(object.metadata.deletionTimestamp, GRACE_SECONDS, nowMs)
  if (graceSeconds > 0)
    return waiting('Deleting', `Looking whether Cluster ${cluster.name} is deleted too`, graceSeconds)
  const message = [
    `${object.kind} ${name} was deleted, but Cluster ${cluster.name} still needs it: nothing is destroyed.`,
    `Delete Cluster ${cluster.name} to destroy everything,`,
    `or set the annotation ${CONFIRM_DELETE_ANNOTATION}=${name} to destroy this part alone`,
  ].join(' ')
  return waiting('DeletedDirectly', message)
}
