// Many clusters at once: made, watched until all of them are ready, counted, deleted. The management API plays the workload
// cluster of all of them; the engine is the simulated one, so that what is measured is capt and not Terraform.
import { readFileSync } from 'node:fs'
import { type AnyObject, CAPTMachineDeployment, type KindRef } from '#api'
import { connect } from '#kube'
import { accessOf, isTrue } from '../api.ts'
import { auditMark, type Request, requestsSince } from '../audit.ts'
import { type Kube, until, VERSIONS } from '../lab.ts'
import type { Loose } from '../loose.ts'
import { clusterManifests, templates } from '../manifests.ts'
import { playMachines } from '../play-machines.ts'
import { eventually, type ManagerOptions, startWorld, type World } from '../world.ts'
import { FLEET_NAMESPACE, fleetMachines, fleetMachineTemplate } from './fleet-machines.ts'

export { FLEET_NAMESPACE } from './fleet-machines.ts'

const WRITERS = 8
const NO_ADDONS = { 'capt.appthrust.com/addon-pipeline': 'none' }

export interface Growth {
  readonly clusters: number
  /** From the first manifest until the last cluster is ready. */
  readonly seconds: number
  readonly cpuSeconds: number
  /** Requests of the manager that were answered, watches aside. */
  readonly requests: readonly Request[]
}

export interface GrowOptions {
  /** Digits of the number in a name; as many as it needs otherwise. */
  readonly pad?: number
  /** Leave the add-ons to the pipeline that comes with capt, which makes an AddonDelivery; no pipeline otherwise. */
  readonly addons?: boolean
}

export interface Fleet {
  readonly world: World
  /** Makes so many more clusters and waits until every one of them is ready. */
  grow(prefix: string, clusters: number, options?: GrowOptions): Promise<Growth>
  /** Gives each of those clusters so many machines and waits until every one of them is available. */
  growMachines(prefix: string, clusters: number, each: number, options?: Pick<GrowOptions, 'pad'>): Promise<Growth>
  /** Deletes those clusters and waits until they are gone. */
  shrink(prefix: string, clusters: number): Promise<void>
  stop(): Promise<void>
}

export async function startFleet(manager: ManagerOptions = { args: ['--engine', 'simulated'] }): Promise<Fleet> {
  const world = await startWorld(VERSIONS.capi[0], { audit: true, workloads: 0, manager })
  const { api, kinds, management } = world
  await api.create(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: FLEET_NAMESPACE } })
  for (const template of templates()) {
    template['metadata'].namespace = FLEET_NAMESPACE
    await api.create(kinds.template, template)
  }
  const onlooker = await lookAt(management, [kinds.cluster, kinds.infra, kinds.plane, CAPTMachineDeployment])
  let stopNodes = async (): Promise<void> => undefined
  const timeout = (clusters: number) => 240 + clusters * 6
  /** Of everything that was made: what is deleted waits for what is deleted beside it. */
  let size = 0
  const measure = async (clusters: number, work: () => Promise<void>): Promise<Growth> => {
    size += clusters
    const mark = auditMark(management)
    const cpuBefore = cpuSecondsOf(world.manager.pid)
    const startedAt = performance.now()
    await work()
    return {
      clusters,
      seconds: (performance.now() - startedAt) / 1000,
      cpuSeconds: cpuSecondsOf(world.manager.pid) - cpuBefore,
      requests: requestsOfCapt(management, mark),
    }
  }
  return {
    world,
    grow: (prefix, clusters, { pad = 1, addons = false } = {}) =>
      measure(clusters, async () => {
        await inLanes(namesOf(prefix, clusters, pad), (name) => makeCluster(world, name, addons ? {} : NO_ADDONS))
        const all = (kind: KindRef, type: string) =>
          onlooker.count(kind, prefix, (object) => isTrue(object as Loose, type)) === clusters
        const areReady = () => all(kinds.infra, 'Ready') && all(kinds.plane, 'Ready') && all(kinds.cluster, 'Available')
        await eventually(world, `${clusters} clusters are ready`, areReady, timeout(clusters))
      }),
    async growMachines(prefix, clusters, each, { pad = 1 } = {}) {
      await api.create(kinds.template, fleetMachineTemplate())
      stopNodes = playMachines(management, management)
      return await measure(clusters, async () => {
        await inLanes(namesOf(prefix, clusters, pad), (name) =>
          api.create(CAPTMachineDeployment, fleetMachines(name, each)),
        )
        const areAvailable = () =>
          onlooker.count(CAPTMachineDeployment, prefix, (object) => isTrue(object as Loose, 'Ready')) === clusters
        await eventually(world, `${clusters * each} machines are available`, areAvailable, timeout(clusters))
      })
    },
    async shrink(prefix, clusters) {
      const names = namesOf(prefix, clusters)
      await inLanes(names, (name) => api.remove(kinds.cluster, name, FLEET_NAMESPACE))
      const areGone = () =>
        [kinds.cluster, kinds.infra, kinds.plane].every((kind) => onlooker.count(kind, prefix) === 0)
      await eventually(world, `${clusters} clusters are gone`, areGone, timeout(size))
      await inLanes(names, (name) => api.remove(kinds.secret, workloadSecretName(name), FLEET_NAMESPACE))
    },
    async stop() {
      await stopNodes()
      await onlooker.close()
      await world.stop()
    },
  }
}

/** What capt asked of a server, watches aside: they stay open. */
export function requestsOfCapt(kube: Kube, mark: number): readonly Request[] {
  return requestsSince(kube, mark).filter(({ user, verb }) => user === 'capt' && verb !== 'watch')
}

/** A refresh of a kubeconfig, or the look at what a template reads: minutes apart for a cluster, at any moment in a large fleet. */
export function isDue({ verb, resource, name }: Request): boolean {
  if (resource !== 'secrets' || verb === 'create') return false
  return (verb === 'get' ? /-(kubeconfig|ca|simulated-workload)$/ : /-kubeconfig$/).test(name)
}

/** `2.00 patch captclusters/status`, most frequent first: where the requests of a cluster go. */
export function describePerCluster(requests: readonly Request[], clusters: number): string {
  const counts = new Map<string, number>()
  for (const { verb, resource, subresource, path } of requests) {
    const what = resource ? `${verb} ${resource}${subresource ? `/${subresource}` : ''}` : `${verb} ${path}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return [...counts]
    .sort((one, other) => other[1] - one[1])
    .map(([what, count]) => `${(count / clusters).toFixed(2)} ${what}`)
    .join('\n')
}

const TICKS_PER_SECOND = 100

/** Time on a processor since the process began, of its own code and of the kernel for it. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** By how much time, of the clock or of the processor, grows with size: 1 is proportional. */
export function exponentOf(small: Growth, large: Growth, what: 'seconds' | 'cpuSeconds' = 'seconds'): number {
  return Math.log(large[what] / small[what]) / Math.log(large.clusters / small.clusters)
}

/** Every object of every kind that the server has, as `resource.group namespace/name`. */
export async function inventoryOf({ api: { client } }: World): Promise<readonly string[]> {
  const read = async (path: string): Promise<Loose> => JSON.parse((await client.raw(path)).text)
  const groups: Loose[] = (await read('/apis'))['groups']
  const found: string[] = []
  for (const base of ['/api/v1', ...groups.map((group) => `/apis/${group['preferredVersion'].groupVersion}`)]) {
    for (const { name, verbs } of (await read(base))['resources'] as Loose[]) {
      if (!verbs.includes('list') || name.includes('/')) continue
      const { items = [] } = await read(`${base}/${name}`)
      const kind = `${name}.${base.split('/')[2]}`
      for (const { metadata } of items) found.push(`${kind} ${metadata.namespace ?? ''}/${metadata.name}`)
    }
  }
  return found.sort()
}

/** Comes with every manager. */
const PIPELINE = 'addonpipelines.infrastructure.cluster.x-k8s.io capt-system/default'

/** What there is before the first cluster; whatever else is found later was left behind by one. */
export async function inventoryBefore(world: World): Promise<ReadonlySet<string>> {
  let found: readonly string[] = []
  await until('the manager has brought its pipeline', async () => {
    found = await inventoryOf(world)
    return found.includes(PIPELINE)
  })
  return new Set(found)
}

const namesOf = (prefix: string, clusters: number, pad = 1): readonly string[] =>
  Array.from({ length: clusters }, (_, i) => `${prefix}-${String(i).padStart(pad, '0')}`)

const workloadSecretName = (cluster: string): string => `${cluster}-simulated-workload`

async function makeCluster(
  { api, kinds, management }: World,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  await api.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: FLEET_NAMESPACE, name: workloadSecretName(name) },
    // Under another name, so that what capt asks of a workload cluster is not counted as asked of the management cluster.
    stringData: { endpoint: management.url, ca: management.caPem, token: management.tokenOf('actors') },
  })
  const kindOf: Loose = {
    Cluster: { ...kinds.cluster, version: 'v1beta1' },
    CAPTCluster: kinds.infra,
    CAPTControlPlane: kinds.plane,
  }
  for (const object of clusterManifests({ name, namespace: FLEET_NAMESPACE, labels }))
    await api.create(kindOf[object['kind']], object)
}

async function inLanes(names: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
  const left = [...names]
  const lane = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await work(name)
  }
  await Promise.all(Array.from({ length: WRITERS }, lane))
}

interface Onlooker {
  count(kind: KindRef, prefix: string, is?: (object: AnyObject) => boolean): number
  close(): Promise<void>
}

/** Watches, so that looking costs the server nothing. */
async function lookAt(kube: Kube, kinds: readonly KindRef[]): Promise<Onlooker> {
  const connection = connect(accessOf(kube))
  const { informers } = connection
  for (const kind of kinds) informers.register(kind)
  informers.start()
  await informers.synced()
  return {
    count: (kind, prefix, is = () => true) =>
      informers.list(kind).filter((object) => object.metadata.name.startsWith(`${prefix}-`) && is(object)).length,
    close: () => connection.close(),
  }
}
