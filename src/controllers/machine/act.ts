// Executes the actions that were decided for a CAPTMachine. Every action is idempotent.
import {
  type AnyObject,
  CAPTMachine,
  CLUSTER_NAME_LABEL,
  keyOf,
  MACHINE_FINALIZER,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { ignore, type Objects } from '#kube'
import { CaptError } from '#lib'
import { addFinalizer, ownerReference, removeFinalizer, restoreOwner, type World } from '#runtime'
import { type ApplyRequest, writeApply } from '../shared/apply.ts'
import { setBlockMove } from '../shared/block-move.ts'
import type { Workloads } from '../shared/workload.ts'
import type { Action } from './decide.ts'
import { type DrainLog, leftPods } from './drain.ts'
import { cordonNode, deleteNode, evictPods, labelNode, MAX_AGE_SECONDS } from './node.ts'
import type { Observed } from './observe.ts'
import { userDataSecretName } from './variables.ts'

interface ActPorts {
  readonly workloads: Workloads
  readonly drains: DrainLog
}

export async function actOnMachine(world: World, ports: ActPorts, observed: Observed, action: Action): Promise<void> {
  const { objects, events, clock } = world
  const { object, apply, cluster } = observed
  const emit = (reason: string, message: string) => events.emit(object, { type: 'Normal', reason, message })
  switch (action.do) {
    case 'add-finalizer':
      return addFinalizer(objects, CAPTMachine, object, MACHINE_FINALIZER)
    case 'remove-finalizer':
      ports.drains.forget(keyOf(object))
      return removeFinalizer(objects, CAPTMachine, object, MACHINE_FINALIZER)
    case 'unblock-move':
      return setBlockMove(objects, CAPTMachine, object, false)
    case 'own':
      return cluster && restoreOwner(objects, CAPTMachine, object, ownerReference(cluster.object))
    case 'write-apply':
      await writeUserData(objects, object, action.request)
      await writeApply(objects, action.request)
      // The first request is reported by the events of its run.
      if (apply) emit('Updating', `Asked for instance ${action.request.name}`)
      return
    case 'set-provider-id':
      return setProviderId(world, object, action.providerId)
    case 'label-node':
      return labelNode(await workloadOf(ports, observed), nodeName(observed), action.labels)
    case 'cordon':
      await cordonNode(await workloadOf(ports, observed), nodeName(observed))
      return emit('Draining', `Cordoned Node ${nodeName(observed)}`)
    case 'evict': {
      const held = await evictPods(await workloadOf(ports, observed), action.pods)
      return ports.drains.set(keyOf(object), { evictedAtMs: clock.now(), held })
    }
    case 'delete-apply':
      return deleteApply(world, observed)
    case 'delete-node':
      return deleteNode(await workloadOf(ports, observed), nodeName(observed))
  }
}

const nodeName = ({ node }: Observed): string => (node.is === 'found' ? node.name : '')

async function workloadOf({ workloads }: ActPorts, { object, cluster }: Observed): Promise<Objects> {
  const key = { namespace: object.metadata.namespace ?? '', name: cluster?.name ?? '' }
  const workload = cluster && (await workloads.open(key, MAX_AGE_SECONDS))
  if (workload) return workload.objects
  throw new CaptError('CAPT_WORKLOAD_UNREACHABLE', 'The workload cluster has no kubeconfig', {
    hint: 'look at the CAPTControlPlane: its condition KubeconfigAvailable says why',
  })
}

/** An empty Secret means that the template makes the user data; that of a bootstrap provider is used as it is. */
async function writeUserData(objects: Objects, object: AnyObject, { spec, cluster }: ApplyRequest): Promise<void> {
  const { name, namespace = '' } = object.metadata
  if (spec.variables['user_data_secret'] !== userDataSecretName(name)) return
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: userDataSecretName(name),
      namespace,
      labels: { [CLUSTER_NAME_LABEL]: cluster },
      ownerReferences: [ownerReference(object)],
    },
    type: 'Opaque',
    data: { value: '' },
  }
  await objects.create<Secret>(SecretKind, secret).catch(ignore('AlreadyExists'))
}

/** Uses a field manager of its own, so that an apply of the rest of the spec does not remove the field. */
async function setProviderId({ objects }: World, object: CAPTMachine, providerID: string): Promise<void> {
  const { name, namespace = '', uid = '' } = object.metadata
  const { apiVersion, kind } = CAPTMachine
  const body: AnyObject & { readonly spec: object } = {
    apiVersion,
    kind,
    metadata: { name, namespace, uid },
    spec: { providerID },
  }
  await objects.apply<AnyObject>(CAPTMachine, body, { fieldManager: 'capt-provider-id' })
}

async function deleteApply({ objects, events }: World, observed: Observed): Promise<void> {
  const { object, apply } = observed
  if (!apply) return
  const left = leftPods(observed)
  if (left.length > 0) {
    const message = `The drain was not over within ${object.spec.drainTimeoutSeconds} s; the instance is destroyed with ${left.join(', ')}`
    events.emit(object, { type: 'Warning', reason: 'DrainTimedOut', message })
  }
  await objects.delete(WorkspaceTemplateApply, keyOf(apply), { uid: apply.metadata.uid ?? '' })
  events.emit(object, { type: 'Normal', reason: 'Destroying', message: `Destroying instance ${apply.metadata.name}` })
}
