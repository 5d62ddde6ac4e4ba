// Objects of a workload cluster as the steps of a teardown see them, and whether the controllers that finish their
// deletion run. A kind that is not served has nothing left.
import { type AnyObject, DeploymentKind, type Key, type KindRef, keyOf, type UnknownObject } from '#api'
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

export function toThing(kind: KindRef, object: AnyObject): Thing {
  const { deletionTimestamp, finalizers = [] } = object.metadata
  return { kind, key: keyOf(object), isDeleting: deletionTimestamp !== undefined, finalizers }
}

/** A step that no controller has to finish. */
export const toObserved = (step: Step, left: readonly Thing[]): ObservedStep => ({
  step,
  left,
  inUse: [],
  isControllerAlive: undefined,
})

type Deployment = AnyObject & { readonly status?: { readonly availableReplicas?: number } }

const isAvailable = (deployment: Deployment | undefined): boolean => (deployment?.status?.availableReplicas ?? 0) > 0

/** Where capt puts it, or wherever others installed it: found by label then. */
async function isAlive(
  objects: Objects,
  key: Key,
  labelSelector: string,
  isController: (deployment: Deployment) => boolean,
): Promise<boolean> {
  if (isAvailable(await objects.get<Deployment>(DeploymentKind, key))) return true
  for await (const one of objects.list<Deployment>(DeploymentKind, { labelSelector }))
    if (isController(one) && isAvailable(one)) return true
  return false
}

export function isFluxAlive(objects: Objects): Promise<boolean> {
  const key = { namespace: FLUX_NAMESPACE, name: 'helm-controller' }
  return isAlive(objects, key, 'app.kubernetes.io/part-of=flux', ({ metadata }) => metadata.name === key.name)
}

export function isKarpenterAlive(objects: Objects, namespace: string): Promise<boolean> {
  return isAlive(objects, { namespace, name: 'karpenter' }, 'app.kubernetes.io/name=karpenter', () => true)
}
