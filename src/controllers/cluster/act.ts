// Carries out what was decided about a CAPTCluster. Each step is safe to repeat.
import { CAPTCluster, CLUSTER_FINALIZER, keyOf, WorkspaceTemplateApply } from '#api'
import { addFinalizer, removeFinalizer, type World } from '#runtime'
import { retainApply, writeApply } from './apply.ts'
import { setBlockMove } from './block-move.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'

export async function actOnCluster(world: World, seen: Observed, action: Action): Promise<void> {
  const { objects, events } = world
  const { object, apply } = seen
  switch (action.do) {
    case 'add-finalizer':
      return addFinalizer(objects, CAPTCluster, object, CLUSTER_FINALIZER)
    case 'remove-finalizer':
      return removeFinalizer(objects, CAPTCluster, object, CLUSTER_FINALIZER)
    case 'unblock-move':
      return setBlockMove(objects, CAPTCluster, object, false)
    case 'write-apply': {
      const { name } = action.request
      await writeApply(objects, action.request)
      // Of the first one its run tells at once.
      if (apply) events.emit(object, { type: 'Normal', reason: 'VPCChanging', message: `Asked for VPC ${name}` })
      return
    }
    case 'retain-apply':
      if (!apply) return
      await retainApply(objects, apply, object)
      events.emit(object, { type: 'Normal', reason: 'VPCRetained', message: `Kept VPC ${apply.metadata.name}` })
      return
    case 'delete-apply':
      if (!apply) return
      await objects.delete(WorkspaceTemplateApply, keyOf(apply), { uid: apply.metadata.uid ?? '' })
      events.emit(object, { type: 'Normal', reason: 'VPCDeleting', message: `Deleting VPC ${apply.metadata.name}` })
  }
}
