// Writes the Secrets of a control plane and starts the refresh of its token. A fault that a person must fix becomes a
// cached result, which decides the condition; a fault of the API server is retried by the queue.
import { type AnyObject, isAdopted, keyOf, pauseOf, type Secret, SecretKind } from '#api'
import { isKubeError } from '#kube'
import { CaptError, redact } from '#lib'
import type { World } from '#runtime'
import type { ActPorts } from '../act.ts'
import { isInitialized } from '../decide.ts'
import { resolveIdentity } from '../identity.ts'
import type { Observed } from '../observe.ts'
import { type Connection, toConnection } from '../outputs.ts'
import { connectionSecretName, identityOf } from '../variables.ts'
import { execKubeconfig, type Server, tokenKubeconfig } from './kubeconfig.ts'
import type { Subject, TokenSource } from './refresher.ts'
import { EXPIRES_ANNOTATION, REFRESHED_ANNOTATION, toSecrets, writeSecret } from './secrets.ts'

export async function writeSecrets(world: World, ports: ActPorts, observed: Observed): Promise<void> {
  const key = keyOf(observed.object)
  try {
    await makeSecrets(world, ports, observed)
    ports.results.noteSecrets(key, observed.source)
  } catch (error) {
    ports.known.invalidate(key)
    if (!(error instanceof CaptError) || isKubeError(error)) throw error
    const hint = error.hint ?? `capt explain ${error.code}`
    ports.results.noteSecrets(key, observed.source, { message: redact(error.message), hint })
  }
}

async function makeSecrets(world: World, ports: ActPorts, observed: Observed): Promise<void> {
  const { object, clusterName, source, network, region = '' } = observed
  const connection = await readConnection(world, observed)
  const server = toServer(observed, connection)
  const sign = signerOf(world, ports, observed, connection)
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
    written.push(await writeSecret(world.objects, secret, observed.secrets[i], object))
  ports.known.set(keyOf(object), written)
  if (!isInitialized(observed)) ports.results.putKubeconfig(keyOf(object), kubeconfig)
  ports.refresher.start(
    toSubject(observed, signed && { server, refreshedAtMs: nowMs, expiresAtMs: signed.expiresAtMs, sign }),
  )
}

/** After a restart: the Secret is current, and only its refresh timer is missing. */
export async function startRefresh(world: World, ports: ActPorts, observed: Observed): Promise<void> {
  const { annotations = {} } = observed.kubeconfig?.metadata ?? {}
  const expiresAt = annotations[EXPIRES_ANNOTATION]
  if (expiresAt === undefined) return ports.refresher.start(toSubject(observed, undefined))
  const times = {
    refreshedAtMs: Date.parse(annotations[REFRESHED_ANNOTATION] ?? '') || 0,
    expiresAtMs: Date.parse(expiresAt) || undefined,
  }
  const source = await readConnection(world, observed).then(
    (connection) => ({ server: toServer(observed, connection), sign: signerOf(world, ports, observed, connection) }),
    (error: unknown) => {
      // Neither a deletion nor a pause may stop here: the refresh reports the fault, and the rest goes on.
      const isGoing = observed.object.metadata.deletionTimestamp !== undefined || observed.cluster?.deleting === true
      if (!isGoing && pauseOf(observed.cluster, observed.object) === undefined) throw error
      return { server: { name: observed.clusterName, url: '', caData: '' }, sign: () => Promise.reject(error) }
    },
  )
  ports.refresher.start(toSubject(observed, { ...times, ...source }))
}

async function readConnection({ objects }: World, observed: Observed): Promise<Connection> {
  const { object, clusterName, facts, network } = observed
  const key = { namespace: object.metadata.namespace ?? '', name: connectionSecretName(clusterName) }
  // A user who may write Secrets must not be able to name another server for an adopted cluster.
  const secret = isAdopted(object) ? undefined : await objects.get<Secret>(SecretKind, key)
  return toConnection(facts, secret, network.clusterName ?? clusterName)
}

/** Lives as long as the cluster, a thousand times: holds the identity of the object and nothing else. */
function toSubject({ object, clusterName, source }: Observed, token: TokenSource | undefined): Subject {
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
): TokenSource['sign'] {
  const identity = identityOf(object, network)
  const { namespace = '' } = object.metadata
  return async () => aws.eksToken(await resolveIdentity(objects, identity, namespace), { name, region })
}
