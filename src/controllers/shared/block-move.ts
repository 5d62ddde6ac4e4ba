// Sets and removes the annotation that makes clusterctl and `capt move` wait while a run is on.
import { type AnyObject, BLOCK_MOVE_ANNOTATION, type KindRef, keyOf } from '#api'
import type { Objects } from '#kube'

export async function setBlockMove(objects: Objects, kind: KindRef, object: AnyObject, on: boolean): Promise<void> {
  const annotations = { [BLOCK_MOVE_ANNOTATION]: on ? 'true' : null }
  await objects.patch(kind, keyOf(object), { type: 'merge', body: { metadata: { annotations } } })
}
