// Executes the actions that were decided for a CAPTCluster. Every action is idempotent.
import { CAPTCluster, CLUSTER_FINALIZER, keyOf, WorkspaceTemplateApply } from '#api'
import type { World } from '#runtime'
import { retainApply, writeApply } from '../shared/apply.ts'
import { actOnLifecycle } from '../shared/lifecycle.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'

export async function actOnCluster(world: World, observed: Observed, action: Action): Promise<void> {
  const { objects, events } = world
  const { object, apply } = observed
  switch (action.do) {
    case 'add-finalizer':
    case 'remove-finalizer':
    case 'unblock-move':
      return actOnLifecycle(objects, CAPTCluster, object, CLUSTER_FINALIZER, action.do)
    case 'write-apply': {
      const { name } = action.request
      await writeApply(objects, action.request)
      // The first request is reported by the events of its run.
      if (apply) events.emit(object, { type: 'Normal', reason: 'VPCChanging', message: `Asked for VPC ${name}` })
      return
    }
    case 'record-name': {
      const { resourceVersion } = object.metadata
      const body = { metadata: { resourceVersion }, status: { clusterName: action.name } }
      await objects.patch(CAPTCluster, keyOf(object), { type: 'merge', body }, { subresource: 'status' })
      return events.emit(object, action.report)
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
