// Executes the actions that were decided for a CAPTMachineDeployment.
import {
  CAPTMachineDeployment,
  CAPTMachineSet,
  CLUSTER_NAME_LABEL,
  keyOf,
  MACHINE_DEPLOYMENT_FINALIZER,
  REVISION_ANNOTATION,
  TEMPLATE_HASH_LABEL,
} from '#api'
import { ignore } from '#kube'
import { ownerReference, restoreOwner, type World } from '#runtime'
import { actOnLifecycle } from '../shared/lifecycle.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'
import { toSetSelector, toSetTemplate } from './template.ts'

export async function actOnMachineDeployment(world: World, observed: Observed, action: Action): Promise<void> {
  const { objects, events } = world
  const { object, cluster } = observed
  const emit = (reason: string, message: string) => events.emit(object, { type: 'Normal', reason, message })
  switch (action.do) {
    case 'add-finalizer':
    case 'remove-finalizer':
    case 'unblock-move':
      return actOnLifecycle(objects, CAPTMachineDeployment, object, MACHINE_DEPLOYMENT_FINALIZER, action.do)
    case 'own':
      return cluster && restoreOwner(objects, CAPTMachineDeployment, object, ownerReference(cluster.object))
    case 'count-collision': {
      const { resourceVersion } = object.metadata
      const status = { collisionCount: (object.status?.collisionCount ?? 0) + 1 }
      const body = { metadata: { resourceVersion }, status }
      await objects.patch(CAPTMachineDeployment, keyOf(object), { type: 'merge', body }, { subresource: 'status' })
      return
    }
    case 'create-set':
      await objects.create<CAPTMachineSet>(CAPTMachineSet, toSet(observed, action)).catch(ignore('AlreadyExists'))
      return emit('CreatedSet', `Created CAPTMachineSet ${action.name} with ${action.replicas} machines`)
    case 'scale': {
      const { name, resourceVersion } = action.set.metadata
      const body = { metadata: { resourceVersion }, spec: { replicas: action.to } }
      await objects.patch(CAPTMachineSet, keyOf(action.set), { type: 'merge', body })
      return emit('ScaledSet', `Scaled CAPTMachineSet ${name} from ${action.set.spec.replicas} to ${action.to}`)
    }
    case 'update-set':
      await updateSet(world, action.set, action.fields)
      return
    case 'adopt': {
      const owner = ownerReference(object, { controller: true, blockOwnerDeletion: true })
      await restoreOwner(objects, CAPTMachineSet, action.set, owner)
      return emit('Adopted', `Adopted CAPTMachineSet ${action.set.metadata.name}`)
    }
    case 'set-revision': {
      const body = { metadata: { annotations: { [REVISION_ANNOTATION]: String(action.revision) } } }
      const [kind, of] = action.set ? [CAPTMachineSet, action.set] : [CAPTMachineDeployment, object]
      await objects.patch(kind, keyOf(of), { type: 'merge', body })
      return
    }
    case 'delete-sets':
      for (const set of action.sets) await objects.delete(CAPTMachineSet, keyOf(set), { uid: set.metadata.uid ?? '' })
  }
}

function toSet(
  { object, clusterName = '' }: Observed,
  { name, hash, replicas, revision }: Extract<Action, { do: 'create-set' }>,
): CAPTMachineSet {
  const { template, deletePolicy, minReadySeconds } = object.spec
  return {
    apiVersion: CAPTMachineSet.apiVersion,
    kind: CAPTMachineSet.kind,
    metadata: {
      name,
      namespace: object.metadata.namespace ?? '',
      labels: { ...template.metadata?.labels, [TEMPLATE_HASH_LABEL]: hash, [CLUSTER_NAME_LABEL]: clusterName },
      annotations: { [REVISION_ANNOTATION]: String(revision) },
      ownerReferences: [ownerReference(object, { controller: true, blockOwnerDeletion: true })],
    },
    spec: {
      replicas,
      selector: toSetSelector(object.spec, hash),
      template: toSetTemplate(template, hash),
      deletePolicy,
      minReadySeconds,
    },
  }
}

/** A JSON patch replaces the template as a whole: a merge would keep fields that are gone. */
async function updateSet({ objects }: World, set: CAPTMachineSet, fields: object): Promise<void> {
  const test = { op: 'test', path: '/metadata/resourceVersion', value: set.metadata.resourceVersion }
  const changes = Object.entries(fields).map(([field, value]) => ({ op: 'add', path: `/spec/${field}`, value }))
  await objects.patch(CAPTMachineSet, keyOf(set), { type: 'json', body: [test, ...changes] })
}
