// Objects of a workload cluster as the steps of a teardown see them, and whether the controllers that finish their
// deletion run. A kind that is not served has nothing left.
import { type AnyObject, DeploymentKind, type Key, type KindRef, type UnknownObject } from '#api'
import { isKubeError, type ListOptions, type Objects } from '#kube'
import { FLUX_NAMESPACE } from '../names.ts'
import type { ObservedStep, Step, Thing } from './observed.ts'

export async function things(
  objects: Objects,
  kind: KindRef,
  accepts: (object: UnknownObject) => boolean,
  options: ListOptions = {},
): Promise<readonly Thing[]> {
  const found: Thing[] = []
  try {
    for await (const object of objects.list<UnknownObject>(kind, options))
      if (accepts(object)) found.push(toThing(kind, object))
  } catch (error) {
    if (!isKubeError(error, 'KindNotServed', 'NotFound')) throw error
  }
  return found
}

export async function one(objects: Objects, kind: KindRef, key: Key): Promise<readonly Thing[]> {
  try {
    const object = await objects.get<UnknownObject>(kind, key)
    return object ? [toThing(kind, object)] : []
  } catch (error) {
    if (!isKubeError(error, 'KindNotServed', 'NotFound')) throw error
    return []
  }
}

export function toThing(kind: KindRef, { metadata }: AnyObject): Thing {
  const key =
    metadata.namespace === undefined ? { name: metadata.name } : { namespace: metadata.namespace, name: metadata.name }
  return { kind, key, isDeleting: metadata.deletionTimestamp !== undefined, finalizers: metadata.finalizers ?? [] }
}

/** A step that no controller has to finish. */
export const toObserved = (step: Step, left: readonly Thing[]): ObservedStep => ({
  step,
  left,
  inUse: [],
  isControllerAlive: undefined,
})

async function isAlive(objects: Objects, key: Key): Promise<boolean> {
  const deployment = await objects.get<UnknownObject>(DeploymentKind, key)
  const { status } = (deployment ?? {}) as { status?: { availableReplicas?: number } }
  return (status?.availableReplicas ?? 0) > 0
}

/** Wherever it lives: a Flux that was adopted may be elsewhere. */
export async function isFluxAlive(objects: Objects): Promise<boolean> {
  if (await isAlive(objects, { namespace: FLUX_NAMESPACE, name: 'helm-controller' })) return true
  for await (const one of objects.list<UnknownObject>(DeploymentKind, {
    labelSelector: 'app.kubernetes.io/part-of=flux',
  }))
    if (
      one.metadata.name === 'helm-controller' &&
      (await isAlive(objects, { namespace: one.metadata.namespace!, name: one.metadata.name }))
    )
      return true
  return false
}

/** Where the stage put it, or wherever people installed it. */
export async function isKarpenterAlive(objects: Objects, namespace: string): Promise<boolean> {
  if (await isAlive(objects, { namespace, name: 'karpenter' })) return true
  for await (const { status } of objects.list<UnknownObject & { status?: { availableReplicas?: number } }>(
    DeploymentKind,
    { labelSelector: 'app.kubernetes.io/name=karpenter' },
  ))
    if ((status?.availableReplicas ?? 0) > 0) return true
  return false
}
