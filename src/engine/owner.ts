// The apply, as those who keep objects beside it need to know it.
import { CLUSTER_NAME_LABEL, type OwnerReference } from '#api'
import { KEEP_FINALIZER, labelsOf, PART_LABEL, type Part, suffixOf, WORKSPACE_LABEL } from './names.ts'
import type { ObjectKey } from './workspace.ts'

export interface Owner extends ObjectKey {
  readonly uid: string
  readonly apiVersion: string
  readonly kind: string
  readonly cluster?: string
  /** Name of the apply, where the workspace has another: that of its drift checks. */
  readonly checks?: string
}

/** Of a workspace whose objects are there already: only its name counts. */
export const toOwner = ({ namespace, name }: ObjectKey): Owner => ({
  namespace,
  name,
  uid: '',
  apiVersion: '',
  kind: '',
})

/** Metadata of an object kept for a workspace: owned, labelled, and held by our finalizer. */
export function keptMetadata(owner: Owner, name: string, part: Part) {
  const reference: OwnerReference = {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.checks ?? owner.name,
    uid: owner.uid,
  }
  return {
    name,
    namespace: owner.namespace,
    labels: {
      ...labelsOf(suffixOf(owner), part),
      ...(owner.cluster === undefined ? {} : { [CLUSTER_NAME_LABEL]: owner.cluster }),
    },
    // What a drift check keeps is worth nothing without the apply.
    finalizers: owner.checks === undefined ? [KEEP_FINALIZER] : [],
    ownerReferences: [reference],
  }
}

/**
 * Metadata of an object that lives no longer than a run. Nothing leads clusterctl to it: it would list it before it waits for the
 * run to end, and stop halfway through the move because it is gone by then. The record knows of it instead of an owner.
 */
export function transientMetadata(owner: Owner, name: string, part: Part) {
  const labels = { [WORKSPACE_LABEL]: suffixOf(owner), [PART_LABEL]: part }
  return { name, namespace: owner.namespace, labels, finalizers: [KEEP_FINALIZER] }
}
