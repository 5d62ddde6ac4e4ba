// Executes the actions that were decided for a CAPTControlPlane. Every action is idempotent.

import {
  type AnyObject,
  CAPTControlPlane,
  CONTROL_PLANE_FINALIZER,
  isAdopted,
  keyOf,
  kubeconfigSecretName,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import type { Aws, ClusterDescriptions } from '#aws'
import { CaptError, messageOf, redact } from '#lib'
import { addFinalizer, removeFinalizer, type World } from '#runtime'
import type { ClusterTeardown, TeardownPhase } from '../addon-delivery/teardown/cluster.ts'
import { writeApply } from '../shared/apply.ts'
import { setBlockMove } from '../shared/block-move.ts'
import { type Descriptions, describeAdopted } from './adopted/descriptions.ts'
import type { ResultCache } from './cache.ts'
import type { Action } from './decide.ts'
import { resolveIdentity } from './identity.ts'
import { startRefresh, writeSecrets } from './kubeconfig/act-secrets.ts'
import type { KnownSecrets } from './kubeconfig/known-secrets.ts'
import type { KubeconfigRefresher } from './kubeconfig/refresher.ts'
import type { Observed } from './observe.ts'
import { identityOf } from './variables.ts'

/** Answers undefined when the API server behind a kubeconfig answers, else why not. */
export type Reach = (kubeconfig: string) => Promise<string | undefined>

export interface ActPorts {
  readonly aws: Aws & Partial<ClusterDescriptions>
  readonly descriptions: Descriptions
  readonly reach: Reach | undefined
  readonly results: ResultCache
  readonly refresher: KubeconfigRefresher
  readonly known: KnownSecrets
  /** Clears clusters that have no AddonDelivery; absent where nothing is to be cleared. */
  readonly teardown: ClusterTeardown | undefined
}

export async function actOnControlPlane(
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
      return addFinalizer(objects, CAPTControlPlane, object, CONTROL_PLANE_FINALIZER)
    case 'remove-finalizer':
      ports.teardown?.forget(clusterKey(observed))
      ports.results.forget(keyOf(object))
      ports.descriptions.forget(keyOf(object))
      if (isAdopted(object) && object.metadata.deletionTimestamp)
        emit('Detached', `EKS cluster ${observed.network.clusterName ?? observed.clusterName} stays as it is`)
      ports.known.invalidate(keyOf(object))
      return removeFinalizer(objects, CAPTControlPlane, object, CONTROL_PLANE_FINALIZER)
    case 'unblock-move':
      return setBlockMove(objects, CAPTControlPlane, object, false)
    case 'describe':
      return describeAdopted(world, ports, observed)
    case 'ensure-spot-role':
      return ensureSpotRole(world, ports, observed)
    case 'write-apply':
      await writeApply(objects, action.request)
      // The first request is reported by the events of its run.
      if (apply) emit('Updating', `Asked for control plane ${action.request.name}`)
      return
    case 'write-secrets':
      return writeSecrets(world, ports, observed)
    case 'start-refresh':
      return startRefresh(world, ports, observed)
    case 'set-endpoint':
      return setEndpoint(world, observed, action.endpoint)
    case 'reach':
      return reachServer(world, ports, observed)
    case 'clear-cluster':
      return clearCluster(world, ports, observed, action.phase)
    case 'delete-workers':
      for (const { kind, name, uid } of action.workers)
        await objects.delete(kind, { namespace: object.metadata.namespace ?? '', name }, { uid })
      return emit('DeletingWorkers', `Deleting ${action.workers.map(({ name }) => name).join(', ')}`)
    case 'delete-apply':
      if (!apply) return
      await objects.delete(WorkspaceTemplateApply, keyOf(apply), { uid: apply.metadata.uid ?? '' })
      return emit('Destroying', `Destroying control plane ${apply.metadata.name}`)
  }
}

const clusterKey = ({ object, clusterName }: Observed) => ({
  namespace: object.metadata.namespace ?? '',
  name: clusterName,
})

async function clearCluster(
  world: World,
  { teardown, results }: ActPorts,
  observed: Observed,
  phase: TeardownPhase,
): Promise<void> {
  const { object } = observed
  const pipelines = observed.deliveries.map(({ pipeline }) => pipeline)
  const found = await teardown?.advance(world, clusterKey(observed), object, phase, pipelines)
  if (found && !found.isOver) {
    const { message, retryAfterSeconds } = found
    return results.noteCleared(keyOf(object), phase, { message, hint: '', retryAfterSeconds })
  }
  results.noteCleared(keyOf(object), phase)
  if (!found || found.leftovers.length === 0) return
  const message = `Left behind: ${found.leftovers.join(', ')}. Delete it by hand, unless it is still needed`
  world.events.emit(object, { type: 'Warning', reason: 'LeftBehind', message })
}

async function ensureSpotRole({ objects, events }: World, ports: ActPorts, observed: Observed): Promise<void> {
  const { object, network, region = '', results } = observed
  try {
    const identity = await resolveIdentity(objects, identityOf(object, network), object.metadata.namespace ?? '')
    const found = await ports.aws.ensureSpotRole(identity, region)
    ports.results.noteSpotRole(results.account)
    if (found === 'created')
      events.emit(object, {
        type: 'Normal',
        reason: 'SpotServiceLinkedRoleCreated',
        message: 'Made the service-linked role for EC2 Spot',
      })
  } catch (error) {
    const hint =
      error instanceof CaptError && error.hint ? error.hint : 'allow iam:GetRole and iam:CreateServiceLinkedRole'
    ports.results.noteSpotRole(results.account, { message: redact(messageOf(error)), hint })
  }
}

/** Under a field manager of its own: the topology controller owns the rest of the spec. */
async function setEndpoint({ objects }: World, { object }: Observed, endpoint: object): Promise<void> {
  const { name, namespace, uid } = object.metadata
  const body = {
    apiVersion: CAPTControlPlane.apiVersion,
    kind: CAPTControlPlane.kind,
    metadata: { name, ...(namespace ? { namespace } : {}), ...(uid ? { uid } : {}) },
    spec: { controlPlaneEndpoint: endpoint },
  }
  await objects.apply<AnyObject>(CAPTControlPlane, body, { fieldManager: 'capt-endpoint' })
}

async function reachServer(world: World, ports: ActPorts, observed: Observed): Promise<void> {
  const { object, clusterName, source } = observed
  const key = keyOf(object)
  if (!ports.reach) return ports.results.noteReached(key, source)
  const text = ports.results.takeKubeconfig(key) ?? (await readKubeconfig(world, object, clusterName))
  const fault = await ports.reach(text).catch((error: unknown) => redact(messageOf(error)))
  if (fault === undefined) return ports.results.noteReached(key, source)
  const message = `The API server does not answer: ${fault}`
  const hint = 'check endpointAccess and the network between'
  world.events.emit(object, { type: 'Warning', reason: 'APIServerUnreachable', message: `${message}. ${hint}` })
  ports.results.noteReached(key, source, { message, hint })
}

async function readKubeconfig({ objects }: World, object: AnyObject, clusterName: string): Promise<string> {
  const key = { namespace: object.metadata.namespace ?? '', name: kubeconfigSecretName(clusterName) }
  const secret = await objects.get<Secret>(SecretKind, key)
  return Buffer.from(secret?.data?.['value'] ?? '', 'base64').toString('utf8')
}
