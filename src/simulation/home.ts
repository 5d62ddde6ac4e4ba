// The home part of simulation: a Cluster that carries the label gets a workload API of its own, a Secret that says where
// it is, and the actors that play in it. All of it comes back after a restart and goes with the Cluster.
import {
  type AnyObject,
  CAPTCluster,
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  clusterKeyOf,
  clusterKind,
  type Key,
  keyOf,
  keyText,
  readCluster,
  type Secret,
  SecretKind,
  toKey,
} from '#api'
import { type Cache, ignore, type Objects, type Projected } from '#kube'
import type { Clock, Log } from '#lib'
import {
  type AnyController,
  act,
  type Controller,
  type Decision,
  done,
  doneFor,
  hasFinalizer,
  ownerReference,
  removeFinalizer,
  type World,
} from '#runtime'
import { type Actors, startActors } from './actors.ts'
import { autoModeActor } from './auto-mode.ts'
import { simulatedLedger } from './ledger.ts'
import { machineActor } from './machines.ts'
import { SIMULATION_LABEL, simulated } from './names.ts'
import { nodeGroupActor } from './node-groups.ts'
import type { ConnectRealm, RealmAccess, RealmConnection, Realms } from './port.ts'

interface SimulationPorts {
  readonly realms: Realms
  readonly connect: ConnectRealm
  readonly clusterApi: ClusterApiVersion
  readonly clock: Clock
  readonly log: Log
  readonly paceMs?: number
}

export interface Simulation {
  readonly controllers: readonly AnyController[]
  /** Stops all actors; the workload APIs stay as they are. */
  stop(): Promise<void>
}

/** Timers reach less than 25 days ahead. */
const LONGEST_DELAY_SECONDS = 86_400
const SUFFIX = '-simulated-workload'
const FINALIZER = 'capt.appthrust.com/simulated-workload'
/** The workload clusters whose Cluster asks for one. */
export const simulatedWorkloadSecret = (cluster: string): string => `${cluster}${SUFFIX}`
const realmPath = ({ namespace, name }: Key): string => `/workloads/${namespace}/${name}`

interface Playing {
  readonly connection: RealmConnection
  readonly actors: Actors
}

export function createSimulation(ports: SimulationPorts): Simulation {
  const stages = new Map<string, Promise<Playing>>()

  const play = async (home: Objects, cluster: Key): Promise<void> => {
    const id = keyText(cluster)
    if (!stages.has(id)) stages.set(id, start(home, cluster))
    try {
      await stages.get(id)
    } catch (error) {
      stages.delete(id)
      throw error
    }
  }
  async function start(home: Objects, cluster: Key): Promise<Playing> {
    const connection = await ports.connect(realmPath(cluster))
    const log = ports.log.with({ simulated: keyText(cluster) })
    const actors = await startActors({
      connection,
      ledger: simulatedLedger(home, cluster),
      clock: ports.clock,
      log,
      paceMs: ports.paceMs,
    })
    return { connection, actors }
  }
  const end = async (cluster: Key): Promise<void> => {
    const id = keyText(cluster)
    const playing = await stages.get(id)?.catch(() => undefined)
    stages.delete(id)
    await playing?.actors.stop()
    await playing?.connection.close()
  }
  const workloadOf = async (cluster: Key): Promise<Objects | undefined> =>
    (await stages.get(keyText(cluster))?.catch(() => undefined))?.connection.objects
  const isPlaying = (cluster: Key): boolean => stages.has(keyText(cluster))

  return {
    controllers: [
      clusterActor(ports, play, isPlaying),
      secretActor(ports, end),
      nodeGroupActor({ ...ports, accepts: isAsked, workloadOf }),
      autoModeActor({ ...ports, accepts: isAsked, workloadOf }),
      machineActor({ clock: ports.clock, objectsOf: workloadOf }),
    ] as unknown as readonly AnyController[],
    async stop() {
      const keys = [...stages.keys()]
      await Promise.all(keys.map((id) => end(toKey(id))))
    },
  }
}

interface ObservedCluster {
  readonly cluster: Projected<AnyObject>
  readonly access: RealmAccess | undefined
  readonly secret: Secret | undefined
  /** The same for a cluster that has another name in AWS: templates name the Secret by that. */
  readonly alias: { readonly name: string; readonly secret: Secret | undefined } | undefined
  readonly isPlaying: boolean
  readonly nowMs: number
}
type ClusterAction = { readonly do: 'write-secret' | 'write-alias' | 'play' }

const isAsked = (cluster: AnyObject) => cluster.metadata.labels?.[SIMULATION_LABEL] === 'workload'

function clusterActor(
  ports: SimulationPorts,
  play: (home: Objects, cluster: Key) => Promise<void>,
  isPlaying: (cluster: Key) => boolean,
): Controller<AnyObject, ObservedCluster, ClusterAction> {
  return {
    name: 'simulation-cluster',
    kind: clusterKind(ports.clusterApi),
    summary: false,
    accepts: isAsked,
    wakes: [
      {
        kind: CAPTCluster,
        toKeys: (infra) => [clusterKeyOf(infra) ?? []].flat(),
        ignores: (now, before) => nameInAws(now) === nameInAws(before),
      },
    ],
    async observe({ objects, cache }, cluster) {
      const key = keyOf(cluster)
      const nowMs = ports.clock.now()
      const secret = await objects.get<Secret>(SecretKind, secretKey(key))
      // A deletion goes on after a restart: the actors are needed for as long as the workload is there.
      const isOver = cluster.metadata.deletionTimestamp && (!secret || secret.metadata.deletionTimestamp)
      if (isOver && !isPlaying(key))
        return { cluster, access: undefined, secret: undefined, alias: undefined, isPlaying: true, nowMs }
      const access = await ports.realms.ensure(realmPath(key))
      const name = aliasOf(cache, cluster)
      const at = { namespace: key.namespace!, name: simulatedWorkloadSecret(name ?? '') }
      const alias = name === undefined ? undefined : { name, secret: await objects.get<Secret>(SecretKind, at) }
      return { cluster, access, secret, alias, isPlaying: isPlaying(key), nowMs }
    },
    decide: (observed): Decision<ClusterAction> => {
      if (!observed.access) return done
      const actions: ClusterAction[] = []
      if (!isCurrent(observed)) actions.push({ do: 'write-secret' })
      if (observed.alias && !isCurrent({ ...observed, ...observed.alias })) actions.push({ do: 'write-alias' })
      if (!observed.isPlaying) actions.push({ do: 'play' })
      return actions.length > 0 ? act<ClusterAction>(...actions) : doneUntilReplaced(observed)
    },
    async act(world, observed, action) {
      if (action.do === 'play') return await play(world.objects, keyOf(observed.cluster))
      const { alias } = observed
      if (action.do === 'write-secret') return await writeSecret(world, observed, keyOf(observed.cluster), [FINALIZER])
      const key = { namespace: observed.cluster.metadata.namespace!, name: alias!.name }
      await writeSecret(world, { ...observed, secret: alias!.secret }, key, [])
    },
    status: () => ({}),
  }
}

/** The Secret gets the next token then, and Terraform hands it on while the old one works. */
function doneUntilReplaced({ access, nowMs }: ObservedCluster): Decision<never> {
  return doneFor(Math.min(Math.max(access!.tokenReplacedAt - nowMs, 0) / 1000 + 1, LONGEST_DELAY_SECONDS))
}

const secretKey = (cluster: Key) => ({ namespace: cluster.namespace!, name: simulatedWorkloadSecret(cluster.name) })
const encode = (text: string) => Buffer.from(text).toString('base64')
const dataOf = (access: RealmAccess) => ({
  endpoint: encode(access.server),
  ca: encode(access.caPem),
  token: encode(access.token),
})

const nameInAws = (infra: AnyObject): string | undefined => (infra as CAPTCluster).status?.clusterName

function aliasOf(cache: Cache, cluster: AnyObject): string | undefined {
  const { namespace, name, infrastructureRef: ref } = readCluster(cluster)
  const infra = ref?.kind === CAPTCluster.kind ? cache.get(CAPTCluster, { namespace, name: ref.name }) : undefined
  const inAws = infra && nameInAws(infra)
  return inAws === name ? undefined : inAws
}

function isCurrent({ secret, access }: Pick<ObservedCluster, 'secret' | 'access'>): boolean {
  return secret !== undefined && Object.entries(dataOf(access!)).every(([key, value]) => secret.data?.[key] === value)
}

async function writeSecret(
  { objects }: World,
  { cluster, secret, access }: ObservedCluster,
  named: Key,
  finalizers: string[],
): Promise<void> {
  const key = secretKey(named)
  const data = dataOf(access!)
  if (secret) return void (await objects.patch(SecretKind, key, { type: 'merge', body: { data } }))
  const labels = { ...simulated, [CLUSTER_NAME_LABEL]: cluster.metadata.name }
  await objects
    .create<Secret>(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...key, labels, finalizers, ownerReferences: [ownerReference(cluster)] },
      type: 'Opaque',
      data,
    })
    .catch(ignore('AlreadyExists'))
}

interface ObservedSecret {
  readonly secret: Projected<AnyObject>
  readonly cluster: Key
  readonly isClusterThere: boolean
}

/** The workload API goes after the Cluster: until then its destruction may still need it. */
function secretActor(
  ports: SimulationPorts,
  end: (cluster: Key) => Promise<void>,
): Controller<AnyObject, ObservedSecret, { readonly do: 'remove' }> {
  const Cluster = clusterKind(ports.clusterApi)
  return {
    name: 'simulation-workload',
    kind: SecretKind,
    summary: false,
    accepts: (secret) => secret.metadata.name.endsWith(SUFFIX) && hasFinalizer(secret, FINALIZER),
    wakes: [{ kind: Cluster, toKeys: (cluster) => (isAsked(cluster) ? [secretKey(keyOf(cluster))] : []) }],
    async observe({ cache }, secret) {
      const cluster = { namespace: secret.metadata.namespace!, name: secret.metadata.name.slice(0, -SUFFIX.length) }
      return { secret, cluster, isClusterThere: cache.get(Cluster, cluster) !== undefined }
    },
    decide: ({ secret, isClusterThere }) =>
      secret.metadata.deletionTimestamp && !isClusterThere ? act<{ do: 'remove' }>({ do: 'remove' }) : done,
    async act({ objects }, { secret, cluster }) {
      await end(cluster)
      await ports.realms.remove(realmPath(cluster))
      await removeFinalizer(objects, SecretKind, secret, FINALIZER)
    },
    status: () => ({}),
  }
}
