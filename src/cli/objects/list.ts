// Lists what this person may read.
import type { AnyObject, KindRef } from '#api'
import { isKubeError, type Objects } from '#kube'
import { isCaptError } from '#lib'

/** Of every namespace where none is given. */
export async function listIn<T extends AnyObject>(objects: Objects, kind: KindRef, namespace: string | undefined) {
  return (await Array.fromAsync(objects.list<T>(kind, { namespace })).catch(unseen)) ?? []
}

/** A cluster that is not there counts as absent. */
export function absent(error: unknown): undefined {
  if (!isCaptError(error, 'CAPT_KUBE_NOT_FOUND')) throw error
  return undefined
}

/** What this person may not read, or this server does not have, counts as absent. */
export function unseen(error: unknown): undefined {
  if (!isKubeError(error, 'Forbidden', 'KindNotServed')) throw error
  return undefined
}
