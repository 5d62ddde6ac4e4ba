// A CAPTCluster or CAPTControlPlane was deleted, but not its Cluster. Destroying it would break a running cluster, so
// deletion is held until the Cluster is deleted too or an annotation confirms it.
import { type AnyObject, type ClusterFacts, type ContractRef, groupOf } from '#api'
import { type Decision, waiting } from '#runtime'
import { secondsLeft } from './deadline.ts'

export const CONFIRM_DELETE_ANNOTATION = 'capt.appthrust.com/confirm-delete'
/** The deletion of the Cluster arrives by another watch and may be observed later. */
const GRACE_SECONDS = 5

/** Why the object is not deleted; undefined when it may be. */
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
