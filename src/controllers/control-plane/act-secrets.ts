// Makes the Secrets of a control plane and keeps its token alive. What a person has to put right is remembered and shown;
// a server that is away is the queue's business.
import { type AnyObject, keyOf, type Secret, SecretKind } from '#api'
import { isKubeError } from '#kube'
import { CaptError, redact } from '#lib'
import type { World } from '#runtime'
import type { ActPorts } from './act.ts'
import { resolveIdentity } from './identity.ts'
import type { Subject } from './keeper.ts'
import { execKubeconfig, tokenKubeconfig } from './kubeconfig.ts'
import type { Observed } from './observe.ts'
import { type Connection, toConnection } from './outputs.ts'
import { REFRESHED_ANNOTATION, toSecrets, writeSecret } from './secrets.ts'
import { connectionSecretName, identityOf } from './variables.ts'

export async function writeSecrets(world: World, ports: ActPorts, seen: Observed): Promise<void> {
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
export async function keepKubeconfig(world: World, ports: ActPorts, seen: Observed): Promise<void> {
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
