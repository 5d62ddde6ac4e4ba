// A management cluster and its workload clusters in memory: the add-on controllers, core's stand-in for
// ClusterResourceSets and the actors of the simulation, all on a clock that moves only when a test says so.

import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CAPTControlPlane,
  type ConfigMap,
  ConfigMapKind,
  clusterKind,
  groupKindOf,
  type Key,
  keyText,
  type UnknownObject,
} from '#api'
import {
  type ClusterTeardown,
  clusterTeardown,
  defaultPipeline,
  type Instances,
  type Workload,
  type Workloads,
} from '#controllers'
import { type RemoteClusters, resourceSetBindingController, resourceSetController } from '#core'
import type { Events, InformerOptions } from '#kube'
import { KubeError } from '#kube'
import type { Metrics } from '#lib'
import { type AnyController, type Running, runControllers } from '#runtime'
import { type Actors, FAULTS, simulatedInstances, simulatedLedger, startActors } from '#simulation'
import {
  type CollectingLog,
  collectingLog,
  type ManualClock,
  type MemoryCluster,
  manualClock,
  memoryCluster,
} from '#testing'
import { addonDeliveryController, DELIVERY_CONTROLLER } from '../../../src/controllers/addon-delivery/index.ts'
import { addonPipelineController } from '../../../src/controllers/addon-pipeline/index.ts'
import { createMemoryInformers } from '../../../src/testing/memory/informers.ts'

export const HOME = 'capt-system'
export const Cluster = clusterKind('v1beta2')

export interface AddonsWorld {
  readonly home: MemoryCluster
  readonly clock: ManualClock
  readonly log: CollectingLog
  readonly events: {
    readonly about: string
    readonly type: string
    readonly reason: string
    readonly message: string
  }[]
  /** Workload clusters by `namespace/name`. */
  readonly workloads: Map<string, MemoryCluster>
  /** Errors that the workload API of a cluster answers with. */
  readonly broken: Map<string, KubeError>
  /** What the teardown of a control plane works with. */
  readonly teardown: ClusterTeardown
  addCluster(name: string, options?: ClusterOptions): Promise<MemoryCluster>
  /** The same Cluster with another workload, new and empty: what a simulated cluster finds after a move. */
  renewWorkload(name: string): Promise<MemoryCluster>
  delivery(cluster: string): AddonDelivery | undefined
  stage(cluster: string, stage: string): NonNullable<NonNullable<AddonDelivery['status']>['stages']>[number] | undefined
  /** Moves time in small steps until the answer is true; fails with what is known otherwise. */
  until(what: string, check: () => unknown, seconds?: number): Promise<void>
  idle(seconds?: number): Promise<void>
  setFault(cluster: string, faults: Readonly<Record<string, string>>): Promise<void>
  stopActors(cluster: string): Promise<void>
  /** Kills the manager without any goodbye, and starts another one over the same cluster. */
  restart(): Promise<void>
  close(): Promise<void>
}

export interface ClusterOptions {
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly outputs?: Readonly<Record<string, unknown>>
  readonly version?: string
  readonly faults?: Readonly<Record<string, string>>
  readonly nodes?: number
  /** Only the workload cluster; its objects in the management API are for the test to make. */
  readonly isBare?: boolean
}

export const REQUEST_LABELS = {
  'fluxcd.io/enabled': 'true',
  'installation.appthrust.com/eks-karpenter': 'enabled',
} as const

export const outputsFor = (name: string) => ({
  cluster_name: name,
  cluster_endpoint: `https://${name}.example.invalid`,
  karpenter: {
    identity: 'podIdentity',
    controller_role_arn: `arn:aws:iam::111122223333:role/${name}-karpenter`,
    node_role_name: `${name}-node`,
    node_image: 'al2023@v20261102',
    queue_name: `Karpenter-${name}`,
  },
})

interface WorldOptions {
  readonly pipeline?: AddonPipeline
  /** No pipeline at all when false. */
  readonly shipped?: boolean
  readonly resourceSets?: 'v1beta2' | undefined
  /** The simulated cloud unless given. */
  readonly instances?: (simulated: Instances) => Instances
  /** What the manager hears of ConfigMaps; all of it by default. Core's stand-in hears by its own. */
  readonly sourceInformer?: InformerOptions
  readonly metrics?: Metrics
  /** What else becomes of events; `home` and the clock are those of the world. */
  readonly events?: (recorder: Events, home: MemoryCluster, clock: ManualClock) => Events
}

export async function addonsWorld(options: WorldOptions = {}): Promise<AddonsWorld> {
  const clock = manualClock()
  const home = memoryCluster({ clock })
  const log = collectingLog()
  const events: { about: string; type: string; reason: string; message: string }[] = []
  const recorder: Events = { emit: ({ kind }, event) => void events.push({ about: kind, ...event }) }
  const workloads = new Map<string, MemoryCluster>()
  const broken = new Map<string, KubeError>()
  const actors = new Map<string, Actors>()
  let manager: Running | undefined

  const open = (key: Key): MemoryCluster => {
    const id = keyText(key)
    const fault = broken.get(id)
    if (fault) throw fault
    const found = workloads.get(id)
    if (!found) throw new KubeError('Unreachable', `no workload ${id}`)
    return found
  }
  const ports: Workloads = {
    async open(key) {
      if (!workloads.has(keyText(key)) && !broken.has(keyText(key))) return undefined
      return asWorkload(open(key))
    },
  }
  const remotes: RemoteClusters = { connect: async (key) => open(key).objects }

  const instances = options.instances?.(simulatedInstances(home.objects)) ?? simulatedInstances(home.objects)

  function startManager(): void {
    const own = [
      addonPipelineController({ clusterApi: 'v1beta2', homeNamespace: HOME }),
      addonDeliveryController({
        workloads: ports,
        clusterApi: 'v1beta2',
        resourceSets: 'resourceSets' in options ? options.resourceSets : 'v1beta2',
        homeNamespace: HOME,
        wake: (key) => manager?.wake(DELIVERY_CONTROLLER, key),
        instances,
      }),
    ]
    const core = [resourceSetController(remotes), resourceSetBindingController()]
    const start = (controllers: readonly unknown[], sources?: InformerOptions): Running => {
      const informers = createMemoryInformers(home.storage, 'sync')
      if (sources) informers.register(ConfigMapKind, sources)
      return runControllers({
        controllers: controllers as readonly AnyController[],
        objects: home.objects,
        informers,
        events: options.events?.(recorder, home, clock) ?? recorder,
        clock,
        log,
        ...(options.metrics ? { metrics: options.metrics } : {}),
      })
    }
    const { sourceInformer } = options
    if (!sourceInformer) {
      manager = start([...own, ...core])
      return
    }
    const [ours, theirs] = [start(own, sourceInformer), start(core)]
    manager = {
      synced: async () => void (await Promise.all([ours.synced(), theirs.synced()])),
      stop: async () => void (await Promise.all([ours.stop(), theirs.stop()])),
      wake: ours.wake,
      longest: ours.longest,
    }
  }

  async function startWorkload(key: Key, cluster: ClusterOptions): Promise<MemoryCluster> {
    const { namespace = 'default', name } = key
    const workload = memoryCluster({ clock })
    workloads.set(`${namespace}/${name}`, workload)
    if (cluster.faults) workload.seed(ConfigMapKind, faultMap(cluster.faults))
    const connection = {
      objects: workload.objects,
      events: recorder,
      informers: () => createMemoryInformers(workload.storage, 'sync'),
    }
    const ledger = simulatedLedger(home.objects, { namespace, name })
    const started = await startActors({ connection, ledger, clock, log, paceMs: 100, nodes: cluster.nodes ?? 2 })
    actors.set(`${namespace}/${name}`, started)
    return workload
  }

  if (options.shipped !== false) home.seed(AddonPipeline, options.pipeline ?? defaultPipeline(HOME))
  startManager()
  await manager!.synced()

  const world: AddonsWorld = {
    home,
    clock,
    log,
    events,
    workloads,
    broken,
    teardown: clusterTeardown({ workloads: ports, instances }),
    async addCluster(name, cluster = {}) {
      const namespace = cluster.namespace ?? 'default'
      const workload = await startWorkload({ namespace, name }, cluster)
      if (cluster.isBare) return workload
      home.seed(CAPTControlPlane, {
        apiVersion: CAPTControlPlane.apiVersion,
        kind: CAPTControlPlane.kind,
        metadata: { name, namespace },
        spec: { version: cluster.version ?? '1.35', workspaceTemplateRef: { name: 'eks' } },
        status: {
          version: cluster.version ?? 'v1.35.0',
          workspaceStatus: { atProvider: { outputs: cluster.outputs ?? outputsFor(name) } },
        },
      } as AnyObject)
      home.seed(Cluster, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: {
          name,
          namespace,
          labels: cluster.labels ?? REQUEST_LABELS,
          finalizers: ['cluster.cluster.x-k8s.io'],
        },
        spec: { controlPlaneRef: { apiGroup: CAPTControlPlane.group, kind: CAPTControlPlane.kind, name } },
        status: { initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true } },
      } as AnyObject)
      return workload
    },
    async renewWorkload(name) {
      await world.stopActors(name)
      return await startWorkload({ namespace: 'default', name }, {})
    },
    delivery: (name) => home.peek<AddonDelivery>(AddonDelivery, { namespace: 'default', name }),
    stage: (cluster, stage) => world.delivery(cluster)?.status?.stages?.find((one) => one.name === stage),
    async until(what, check, seconds = 60) {
      const step = seconds > 120 ? 2500 : 250
      for (let i = 0; i < (seconds * 1000) / step; i++) {
        if (await check()) return
        await clock.advance(step)
        await turn()
      }
      const status = [...workloads.keys()].map(
        (id) => `${id}: ${JSON.stringify(world.delivery(id.split('/')[1]!)?.status, null, 1)}`,
      )
      const errors = log.lines.filter((line) => line.level === 'error').slice(-5)
      throw new Error(`Not within ${seconds} s: ${what}\n${status.join('\n')}\n${JSON.stringify(errors, null, 1)}`)
    },
    async idle(seconds = 2) {
      for (let i = 0; i < seconds * 4; i++) {
        await clock.advance(250)
        await turn()
      }
    },
    async setFault(cluster, faults) {
      const workload = workloads.get(`default/${cluster}`)!
      await workload.others.delete(ConfigMapKind, FAULTS)
      if (Object.keys(faults).length > 0) await workload.others.create(ConfigMapKind, faultMap(faults))
    },
    async stopActors(cluster) {
      const stopping = actors.get(`default/${cluster}`)!.stop()
      await clock.advance(100)
      await stopping
    },
    async restart() {
      const old = manager!
      startManager()
      await manager!.synced()
      const stopping = old.stop()
      await clock.advance(100)
      await stopping
    },
    async close() {
      const stopping = Promise.all([manager!.stop(), ...[...actors.values()].map((one) => one.stop())])
      await clock.advance(30_000)
      await stopping
    },
  }
  return world
}

/** Lets everything that is ready to run, run. */
async function turn(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}

function faultMap(data: Readonly<Record<string, string>>): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...FAULTS }, data }
}

/** Watches by the storage's own events, folded into one call per iteration of the event loop. */
function asWorkload(cluster: MemoryCluster): Workload {
  return {
    objects: cluster.objects,
    watch(kinds, onChange) {
      const wanted = new Set(kinds.map(groupKindOf))
      let isOpen = true
      let isDue = false
      cluster.storage.onEvent((event) => {
        if (!isOpen || isDue || !wanted.has(groupKindOf(event.kind))) return
        isDue = true
        setImmediate(() => {
          isDue = false
          if (isOpen) onChange()
        })
      })
      return () => {
        isOpen = false
      }
    },
  }
}

export const conditionStatus = (object: AnyObject | undefined, type: string): string | undefined => {
  const { status } = (object ?? {}) as UnknownObject & {
    status?: { conditions?: readonly { type: string; status: string }[] }
  }
  return status?.conditions?.find((condition) => condition.type === type)?.status
}
