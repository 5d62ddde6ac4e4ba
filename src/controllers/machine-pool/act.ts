// Executes the actions that were decided for a CAPTMachinePool. Every action is idempotent.
import {
  type AnyObject,
  CAPTMachinePool,
  type KindRef,
  keyOf,
  MACHINE_POOL_FINALIZER,
  WorkspaceTemplateApply,
} from '#api'
import type { World } from '#runtime'
import { writeApply } from '../shared/apply.ts'
import type { SpotRoles } from '../shared/aws/spot-role.ts'
import { actOnLifecycle } from '../shared/lifecycle.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'

interface ActPorts {
  readonly machinePoolKind: KindRef
  readonly spotRoles: SpotRoles
}

export async function actOnMachinePool(
  world: World,
  ports: ActPorts,
  observed: Observed,
  action: Action,
): Promise<void> {
  const { objects, events } = world
  const { object, apply } = observed
  const emit = (reason: string, message: string) => events.emit(object, { type: 'Normal', reason, message })
  switch (action.do) {
    case 'add-finalizer':
    case 'remove-finalizer':
    case 'unblock-move':
      return actOnLifecycle(objects, CAPTMachinePool, object, MACHINE_POOL_FINALIZER, action.do)
    case 'ensure-spot-role': {
      const { region, identity } = observed.place!
      const place = { namespace: object.metadata.namespace ?? '', region, identity }
      if (await ports.spotRoles.ensure(objects, place))
        emit('SpotServiceLinkedRoleCreated', 'Made the service-linked role for EC2 Spot')
      return
    }
    case 'write-apply':
      await writeApply(objects, action.request)
      // The first request is reported by the events of its run.
      if (apply) emit('NodeGroupChanging', `Asked for node group ${action.request.name}`)
      return
    case 'set-provider-ids':
      return setProviderIds(world, object, action.ids)
    case 'report-replicas': {
      const { namespace, name } = observed.machinePool!
      const body = { spec: { replicas: action.replicas } }
      await objects.patch(ports.machinePoolKind, { namespace, name }, { type: 'merge', body })
      return
    }
    case 'delete-apply':
      if (!apply) return
      await objects.delete(WorkspaceTemplateApply, keyOf(apply), { uid: apply.metadata.uid ?? '' })
      return emit('NodeGroupDeleting', `Deleting node group ${apply.metadata.name}`)
  }
}

/** Under a field manager of its own: the topology controller owns the rest of the spec. */
async function setProviderIds({ objects }: World, object: AnyObject, ids: readonly string[]): Promise<void> {
  const { name, namespace, uid } = object.metadata
  const body = {
    apiVersion: CAPTMachinePool.apiVersion,
    kind: CAPTMachinePool.kind,
    metadata: { name, ...(namespace ? { namespace } : {}), ...(uid ? { uid } : {}) },
    spec: { providerIDList: ids },
  }
  await objects.apply<AnyObject>(CAPTMachinePool, body, { fieldManager: 'capt-provider-ids' })
}
