// The order in which every controller examines deletion, move and pause, before it looks at the spec.
import { type AnyObject, isDeletedForMove } from '#api'
import { hasFinalizer } from './finalizers.ts'

/**
 * `released`: being deleted, and not held by our finalizer. `moved`: deleted because it lives in another management
 * cluster now, so nothing of it may be destroyed; a pause does not hold it. `paused` comes before `deleting`: nothing
 * is destroyed during a pause.
 */
type Lifecycle = 'released' | 'moved' | 'paused' | 'deleting' | 'active'

export function lifecycleOf(object: AnyObject, finalizer: string, pause: string | undefined): Lifecycle {
  const isDeleting = object.metadata.deletionTimestamp !== undefined
  if (isDeleting && !hasFinalizer(object, finalizer)) return 'released'
  if (isDeleting && isDeletedForMove(object)) return 'moved'
  if (pause !== undefined) return 'paused'
  return isDeleting ? 'deleting' : 'active'
}
