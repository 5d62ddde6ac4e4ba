// Makes the Secrets of a control plane and keeps its token alive. What a person has to put right is remembered and shown;
// a server that is away is the queue's business.
import { type AnyObject, keyOf, pauseOf, type Secret, SecretKind } from '#api'
import { isKubeError } from '#kube'
import { CaptError, redact } from '#lib'
import type { World } from '#runtime'
import type { ActPorts } from './act.ts'
import { isInitialized } from './decide.ts'
import { resolveIdentity } from './identity.ts'
import type { Subject, TokenDuty } from './keeper.ts'
import { execKubeconfig, type Server, tokenKubeconfig } from './kubeconfig.ts'
import type { Observed } from './observe.ts'
import { type Connection, toConnection } from './outputs.ts'
import { EXPIRES_ANNOTATION, REFRESHED_ANNOTATION, toSecrets, writeSecret } from './secrets.ts'
import { connectionSecretName, identityOf } from './variables.ts'

export async function writeSecrets(world: World, ports: ActPorts, seen: Observed): Promise<void> {
  const key = keyOf(seen.object)
  try {
    await makeSecrets(world, ports, seen)
    ports.memory.noteSecrets(key, seen.source)
  } catch (error) {
    ports.known.doubt(key)
    if (!(error instanceof CaptError) || isKubeError(error)) throw error
    const hint = error.hint ?? `capt explain ${error.code}`
    ports.memory.noteSecrets(key, seen.source, { message: redact(error.message), hint })
  }
}

async function makeSecrets(world: World, ports: ActPorts, seen: Observed): Promise<void> {
  const { object, clusterName, source, network, region = '' } = seen
  const connection = await readConnection(world, seen)
  const server = toServer(seen, connection)
  const sign = signerOf(world, ports, seen, connection)
  const eks = { clusterName: connection.clusterName, region, roleArn: identityOf(object, network)?.roleArn }
  const signed = connection.kubeconfig === undefined ? await sign() : undefined
  const nowMs = world.clock.now()
  const kubeconfig = connection.kubeconfig ?? tokenKubeconfig(server, signed?.token ?? '')
  const secrets = toSecrets({
    owner: object,
    cluster: clusterName,
    source,
    kubeconfig,
    expiresAtMs: signed?.expiresAtMs,
    nowMs,
    userKubeconfig: connection.kubeconfig ?? execKubeconfig(server, eks),
    caData: connection.caData,
  })
  const written: Secret[] = []
  for (const [i, secret] of secrets.entries())
    written.push(await writeSecret(world.objects, secret, seen.secrets[i], object))
  ports.known.learn(keyOf(object), written)
  if (!isInitialized(seen)) ports.memory.handOver(keyOf(object), kubeconfig)
  ports.keeper.keep(toSubject(seen, signed && { server, refreshedAtMs: nowMs, expiresAtMs: signed.expiresAtMs, sign }))
}

/** After a restart: the Secret is current, and only its timer is missing. */
export async function keepKubeconfig(world: World, ports: ActPorts, seen: Observed): Promise<void> {
  const { annotations = {} } = seen.kubeconfig?.metadata ?? {}
  const expiresAt = annotations[EXPIRES_ANNOTATION]
  if (expiresAt === undefined) return ports.keeper.keep(toSubject(seen, undefined))
  const times = {
    refreshedAtMs: Date.parse(annotations[REFRESHED_ANNOTATION] ?? '') || 0,
    expiresAtMs: Date.parse(expiresAt) || undefined,
  }
  const duty = await readConnection(world, seen).then(
    (connection) => ({ server: toServer(seen, connection), sign: signerOf(world, ports, seen, connection) }),
    (error: unknown) => {
      // Neither a deletion nor a pause must stop here: the refresh fails where it is seen, and the rest goes on.
      const isGoing = seen.object.metadata.deletionTimestamp !== undefined || seen.cluster?.deleting === true
      if (!isGoing && pauseOf(seen.cluster, seen.object) === undefined) throw error
      return { server: { name: seen.clusterName, url: '', caData: '' }, sign: () => Promise.reject(error) }
    },
  )
  ports.keeper.keep(toSubject(seen, { ...times, ...duty }))
}

async function readConnection({ objects }: World, seen: Observed): Promise<Connection> {
  const { object, clusterName, facts, network } = seen
  const key = { namespace: object.metadata.namespace ?? '', name: connectionSecretName(clusterName) }
  const secret = await objects.get<Secret>(SecretKind, key)
  return toConnection(facts, secret, network.clusterName ?? clusterName)
}

/** Kept for as long as the cluster is, and there are a thousand of them: no more of an object than its name. */
function toSubject({ object, clusterName, source }: Observed, token: TokenDuty | undefined): Subject {
  const { apiVersion, kind, metadata } = object
  const { name, namespace, uid } = metadata
  const owner: AnyObject = {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) },
  }
  return { owner, cluster: clusterName, source, ...(token ? { token } : {}) }
}

function toServer({ clusterName }: Observed, { url, caData }: Connection): Server {
  return { name: clusterName, url, caData }
}

function signerOf(
  { objects }: World,
  { aws }: ActPorts,
  { object, network, region = '' }: Observed,
  { clusterName: name }: Connection,
): TokenDuty['sign'] {
  const identity = identityOf(object, network)
  const { namespace = '' } = object.metadata
  return async () => aws.eksToken(await resolveIdentity(objects, identity, namespace), { name, region })
}
