// Tells clusterctl and `capt move` to wait while a run is on, or to go on.
import { type AnyObject, BLOCK_MOVE_ANNOTATION, type KindRef, keyOf } from '#api'
import type { Objects } from '#kube'

export async function setBlockMove(objects: Objects, kind: KindRef, object: AnyObject, on: boolean): Promise<void> {
  const annotations = { [BLOCK_MOVE_ANNOTATION]: on ? 'true' : null }
  await objects.patch(kind, keyOf(object), { type: 'merge', body: { metadata: { annotations } } })
}
