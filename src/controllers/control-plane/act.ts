// Carries out what was decided about a CAPTControlPlane. Each step is safe to repeat.
import {
  type AnyObject,
  CAPTControlPlane,
  CONTROL_PLANE_FINALIZER,
  keyOf,
  kubeconfigSecretName,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import type { Aws } from '#aws'
import { isKubeError } from '#kube'
import { CaptError, messageOf, redact } from '#lib'
import { addFinalizer, removeFinalizer, type World } from '#runtime'
import { writeApply } from '../cluster/apply.ts'
import { setBlockMove } from '../cluster/block-move.ts'
import type { Action } from './decide.ts'
import { resolveIdentity } from './identity.ts'
import type { KubeconfigKeeper, Subject } from './keeper.ts'
import { execKubeconfig, tokenKubeconfig } from './kubeconfig.ts'
import type { Memory } from './memory.ts'
import type { Observed } from './observe.ts'
import { type Connection, toConnection } from './outputs.ts'
import { REFRESHED_ANNOTATION, toSecrets, writeSecret } from './secrets.ts'
import { connectionSecretName, identityOf } from './variables.ts'

/** Answers undefined when the API server behind a kubeconfig answers, else why not. */
export type Reach = (kubeconfig: string) => Promise<string | undefined>

export interface ActPorts {
  readonly aws: Aws
  readonly reach: Reach | undefined
  readonly memory: Memory
  readonly keeper: KubeconfigKeeper
}

export async function actOnControlPlane(world: World, ports: ActPorts, seen: Observed, action: Action): Promise<void> {
  const { objects, events } = world
  const { object, apply } = seen
  const tell = (reason: string, message: string) => events.emit(object, { type: 'Normal', reason, message })
  switch (action.do) {
    case 'add-finalizer':
      return addFinalizer(objects, CAPTControlPlane, object, CONTROL_PLANE_FINALIZER)
    case 'remove-finalizer':
      ports.memory.forget(keyOf(object))
      return removeFinalizer(objects, CAPTControlPlane, object, CONTROL_PLANE_FINALIZER)
    case 'block-move':
      return setBlockMove(objects, CAPTControlPlane, object, true)
    case 'unblock-move':
      return setBlockMove(objects, CAPTControlPlane, object, false)
    case 'ensure-spot-role':
      return ensureSpotRole(world, ports, seen)
    case 'write-apply':
      await writeApply(objects, action.request)
      return tell(apply ? 'Updating' : 'Creating', `Asked for control plane ${action.request.name}`)
    case 'write-secrets':
      return writeSecrets(world, ports, seen)
    case 'keep-kubeconfig':
      return keepKubeconfig(world, ports, seen)
    case 'set-endpoint':
      return setEndpoint(world, seen, action.endpoint)
    case 'reach':
      return reachServer(world, ports, seen)
    case 'delete-workers':
      for (const { kind, name, uid } of action.workers)
        await objects.delete(kind, { namespace: object.metadata.namespace ?? '', name }, { uid })
      return tell('DeletingWorkers', `Deleting ${action.workers.map(({ name }) => name).join(', ')}`)
    case 'delete-apply':
      if (!apply) return
      await objects.delete(WorkspaceTemplateApply, keyOf(apply), { uid: apply.metadata.uid ?? '' })
      return tell('Destroying', `Destroying control plane ${apply.metadata.name}`)
  }
}

async function ensureSpotRole({ objects, events }: World, ports: ActPorts, seen: Observed): Promise<void> {
  const { object, network, region = '', memory } = seen
  try {
    const identity = await resolveIdentity(objects, identityOf(object, network), object.metadata.namespace ?? '')
    const found = await ports.aws.ensureSpotRole(identity, region)
    ports.memory.noteSpotRole(memory.account)
    if (found === 'created')
      events.emit(object, {
        type: 'Normal',
        reason: 'SpotServiceLinkedRoleCreated',
        message: 'Made the service-linked role for EC2 Spot',
      })
  } catch (error) {
    const hint =
      error instanceof CaptError && error.hint ? error.hint : 'allow iam:GetRole and iam:CreateServiceLinkedRole'
    ports.memory.noteSpotRole(memory.account, { message: redact(messageOf(error)), hint })
  }
}

/** What a person has to put right is remembered and shown; a server that is away is the queue's business. */
async function writeSecrets(world: World, ports: ActPorts, seen: Observed): Promise<void> {
  const key = keyOf(seen.object)
  try {
    await makeSecrets(world, ports, seen)
    ports.memory.noteSecrets(key, seen.source)
  } catch (error) {
    if (!(error instanceof CaptError) || isKubeError(error)) throw error
    const hint = error.hint ?? `see docs/errors.md#${error.code}`
    ports.memory.noteSecrets(key, seen.source, { message: redact(error.message), hint })
  }
}

async function makeSecrets(world: World, ports: ActPorts, seen: Observed): Promise<void> {
  const { object, clusterName, source, network, region = '' } = seen
  const connection = await readConnection(world, seen)
  const subject = toSubject(world, ports, seen, connection)
  const server = subject.server
  const eks = { clusterName: connection.clusterName, region, roleArn: identityOf(object, network)?.roleArn }
  const signed = connection.kubeconfig === undefined ? await subject.sign() : undefined
  const nowMs = world.clock.now()
  const secrets = toSecrets({
    owner: object,
    cluster: clusterName,
    source,
    kubeconfig: connection.kubeconfig ?? tokenKubeconfig(server, signed?.token ?? ''),
    expiresAtMs: signed?.expiresAtMs,
    nowMs,
    userKubeconfig: connection.kubeconfig ?? execKubeconfig(server, eks),
    caData: connection.caData,
  })
  for (const secret of secrets) await writeSecret(world.objects, secret, object)
  if (signed) ports.keeper.keep({ ...subject, refreshedAtMs: nowMs })
  else ports.keeper.forget(keyOf(object))
}

/** After a restart: the Secret is current, and only its timer is missing. */
async function keepKubeconfig(world: World, ports: ActPorts, seen: Observed): Promise<void> {
  const refreshed = seen.kubeconfig?.metadata.annotations?.[REFRESHED_ANNOTATION]
  const refreshedAtMs = refreshed === undefined ? 0 : Date.parse(refreshed)
  const subject = await readConnection(world, seen).then(
    (connection) => toSubject(world, ports, seen, connection),
    (error: unknown) => {
      // A deletion must not stop here: the refresh fails where it is seen, and the rest goes on.
      if (!seen.object.metadata.deletionTimestamp && !seen.cluster?.deleting) throw error
      const unknown = { kubeconfig: undefined, url: '', caData: '', clusterName: seen.clusterName }
      return { ...toSubject(world, ports, seen, unknown), sign: () => Promise.reject(error) }
    },
  )
  ports.keeper.keep({ ...subject, refreshedAtMs })
}

async function readConnection({ objects }: World, seen: Observed): Promise<Connection> {
  const { object, clusterName, facts, network } = seen
  const key = { namespace: object.metadata.namespace ?? '', name: connectionSecretName(clusterName) }
  const secret = await objects.get<Secret>(SecretKind, key)
  return toConnection(facts, secret, network.clusterName ?? clusterName)
}

function toSubject({ objects, clock }: World, { aws }: ActPorts, seen: Observed, connection: Connection): Subject {
  const { object, clusterName, source, network, region = '' } = seen
  const owner: AnyObject = { apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata }
  const identity = identityOf(object, network)
  return {
    owner,
    cluster: clusterName,
    source,
    server: { name: clusterName, url: connection.url, caData: connection.caData },
    refreshedAtMs: clock.now(),
    sign: async () => {
      const resolved = await resolveIdentity(objects, identity, object.metadata.namespace ?? '')
      return aws.eksToken(resolved, { name: connection.clusterName, region })
    },
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

async function reachServer(world: World, ports: ActPorts, seen: Observed): Promise<void> {
  const { object, clusterName, source } = seen
  const key = keyOf(object)
  if (!ports.reach) return ports.memory.noteReached(key, source)
  const secretKey = { namespace: object.metadata.namespace ?? '', name: kubeconfigSecretName(clusterName) }
  const secret = await world.objects.get<Secret>(SecretKind, secretKey)
  const text = Buffer.from(secret?.data?.['value'] ?? '', 'base64').toString('utf8')
  const fault = await ports.reach(text).catch((error: unknown) => redact(messageOf(error)))
  ports.memory.noteReached(
    key,
    source,
    fault === undefined
      ? undefined
      : { message: `The API server does not answer: ${fault}`, hint: 'check endpointAccess and the network between' },
  )
}
