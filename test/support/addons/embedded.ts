// The add-on controllers, core's stand-in and the simulation over the embedded API and real HTTP, without Terraform:
// what a control plane would report is written by hand.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AddonDelivery,
  AddonPipeline,
  ALL_KINDS,
  type AnyObject,
  CAPTControlPlane,
  ConfigMapKind,
  checkManifests,
  clusterKind,
  type Key,
  readManifests,
  type Secret,
  SecretKind,
  toCustomResourceDefinition,
  upgradeManifests,
} from '#api'
import { type ApiServer, type Converters, startApiServer } from '#apiserver'
import { defaultPipeline } from '#controllers'
import {
  clusterDefinition,
  convertCluster,
  convertResourceSet,
  convertResourceSetBinding,
  resourceSetBindingController,
  resourceSetController,
  resourceSetDefinitions,
} from '#core'
import { connect, createEvents, fixedCredentials, type Objects } from '#kube'
import { systemClock } from '#lib'
import { type AnyController, type Running, runControllers } from '#runtime'
import {
  createSimulation,
  type RealmAccess,
  type RealmConnection,
  simulatedInstances,
  simulatedWorkloadSecret,
} from '#simulation'
import { type CollectingLog, collectingLog } from '#testing'
import { openWorkloads } from '../../../src/app/workloads.ts'
import { addonDeliveryController, DELIVERY_CONTROLLER } from '../../../src/controllers/addon-delivery/index.ts'
import { addonPipelineController } from '../../../src/controllers/addon-pipeline/index.ts'

export interface EmbeddedWorld {
  readonly objects: Objects
  readonly server: ApiServer
  readonly log: CollectingLog
  readonly requests: { readonly method: string; readonly path: string; readonly code: number }[]
  workload(cluster: string): Promise<Objects>
  addCluster(name: string, labels: Readonly<Record<string, string>>, outputs: object): Promise<void>
  /** Applies an example as capt apply would; answers what was said about it. */
  apply(example: string): Promise<readonly string[]>
  delivery(cluster: string): Promise<AddonDelivery | undefined>
  until(what: string, check: () => Promise<unknown>, seconds?: number): Promise<void>
  restart(): Promise<void>
  close(): Promise<void>
}

const Cluster = clusterKind('v1beta2')
const HOME = 'default'
const CONVERTERS = {
  'cluster.x-k8s.io/Cluster': convertCluster,
  'addons.cluster.x-k8s.io/ClusterResourceSet': convertResourceSet,
  'addons.cluster.x-k8s.io/ClusterResourceSetBinding': convertResourceSetBinding,
} as unknown as Converters

export async function embeddedWorld(): Promise<EmbeddedWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-addons-'))
  const requests: { method: string; path: string; code: number }[] = []
  const log = collectingLog()
  const start = (port: number) =>
    startApiServer({
      dataDir: join(folder, 'data'),
      port,
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: CONVERTERS,
      onRequest: (request) => void requests.push(request),
    })
  let server = await start(0)
  const port = Number(new URL(server.url).port)
  let parts = await manage(server, log)

  const world: EmbeddedWorld = {
    get objects() {
      return parts.objects
    },
    get server() {
      return server
    },
    log,
    requests,
    async workload(name) {
      const opened = await parts.workloads.open({ namespace: 'default', name })
      if (!opened) throw new Error(`${name} has no kubeconfig`)
      return opened.objects
    },
    async addCluster(name, labels, outputs) {
      const { objects } = parts
      const key = { namespace: 'default', name }
      await objects.create(Cluster, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: {
          ...key,
          finalizers: ['cluster.cluster.x-k8s.io'],
          labels: { ...labels, 'capt.appthrust.com/simulation': 'workload' },
        },
        spec: { controlPlaneRef: { apiGroup: CAPTControlPlane.group, kind: CAPTControlPlane.kind, name } },
      } as AnyObject)
      await objects.create(CAPTControlPlane, {
        apiVersion: CAPTControlPlane.apiVersion,
        kind: CAPTControlPlane.kind,
        metadata: key,
        spec: { version: '1.35', workspaceTemplateRef: { name: 'eks' } },
      } as never)
      await objects.patch(
        CAPTControlPlane,
        key,
        { type: 'merge', body: { status: { version: 'v1.35.0', workspaceStatus: { atProvider: { outputs } } } } },
        { subresource: 'status' },
      )
      const secretKey = { namespace: 'default', name: simulatedWorkloadSecret(name) }
      await world.until(`${name} has a workload API`, async () => await objects.get(SecretKind, secretKey))
      const { data } = (await objects.get<Secret>(SecretKind, secretKey))!
      await objects.create<Secret>(SecretKind, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          namespace: 'default',
          name: `${name}-kubeconfig`,
          labels: { 'cluster.x-k8s.io/cluster-name': name },
        },
        type: 'cluster.x-k8s.io/secret',
        data: { value: Buffer.from(kubeconfigOf(data!)).toString('base64') },
      })
      await objects.patch(
        Cluster,
        key,
        {
          type: 'merge',
          body: { status: { initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true } } },
        },
        { subresource: 'status' },
      )
    },
    async apply(example) {
      const text = readFileSync(join(import.meta.dirname, '../../../examples', example), 'utf8')
      const { manifests, notes } = upgradeManifests(readManifests(text, example))
      assert.deepEqual(checkManifests(manifests), [])
      for (const { object } of manifests) {
        const kind = object.kind === 'ConfigMap' ? ConfigMapKind : ALL_KINDS.find((one) => one.kind === object.kind)!
        await parts.objects.apply(kind, {
          ...object,
          metadata: { ...object.metadata, namespace: object.metadata.namespace ?? 'default' },
        })
      }
      return notes
    },
    delivery: async (name) => await parts.objects.get<AddonDelivery>(AddonDelivery, { namespace: 'default', name }),
    async until(what, check, seconds = 60) {
      const end = performance.now() + seconds * 1000
      while (performance.now() < end) {
        if (await check()) return
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const errors = log.lines.filter(({ level }) => level === 'error').slice(-5)
      throw new Error(
        `Not within ${seconds} s: ${what}\n${JSON.stringify((await world.delivery('demo'))?.status, null, 1)}\n${JSON.stringify(errors, null, 1)}`,
      )
    },
    async restart() {
      await parts.close()
      await server.close()
      server = await start(port)
      parts = await manage(server, log)
    },
    async close() {
      await parts.close()
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return world
}

function kubeconfigOf(data: Readonly<Record<string, string>>): string {
  const text = (key: string) => Buffer.from(data[key]!, 'base64').toString('utf8')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'w',
    contexts: [{ name: 'w', context: { cluster: 'w', user: 'w' } }],
    clusters: [{ name: 'w', cluster: { server: text('endpoint'), 'certificate-authority-data': data['ca'] } }],
    users: [{ name: 'w', user: { token: text('token') } }],
  })
}

async function manage(server: ApiServer, log: CollectingLog) {
  const clock = systemClock
  const access = {
    server: server.url,
    ca: server.caPem,
    namespace: 'default',
    credentials: fixedCredentials({ token: server.token }),
    origin: 'the embedded home',
  }
  const connection = connect(access, { clock })
  const { objects, informers } = connection
  const workloads = openWorkloads(objects, clock)
  const simulation = createSimulation({
    realms: {
      ensure: async (path) => {
        const realm = server.realm(path)
        return { ...realm, server: realm.url }
      },
      remove: async (path) => server.removeRealm(path),
    },
    connect: async (path) => connectRealm({ ...server.realm(path), server: server.realm(path).url }),
    clusterApi: 'v1beta2',
    clock,
    log,
    paceMs: 50,
  })
  let running: Running | undefined
  await objects.apply(AddonPipeline, defaultPipeline(HOME))
  const deliveries = addonDeliveryController({
    workloads,
    clusterApi: 'v1beta2',
    resourceSets: 'v1beta2',
    homeNamespace: HOME,
    wake: (key: Key) => running?.wake(DELIVERY_CONTROLLER, key),
    instances: simulatedInstances(objects),
  })
  const controllers = [
    addonPipelineController({ clusterApi: 'v1beta2', homeNamespace: HOME }),
    deliveries,
    resourceSetController({
      connect: async (cluster) => {
        const opened = await workloads.open(cluster)
        if (!opened) throw new Error('no kubeconfig yet')
        return opened.objects
      },
    }),
    resourceSetBindingController(),
    ...simulation.controllers,
  ] as unknown as AnyController[]
  running = runControllers({
    controllers,
    objects,
    informers,
    events: createEvents(objects, { clock, controller: 'test', instance: 'test' }),
    clock,
    log,
  })
  await running.synced()
  return {
    objects,
    workloads,
    async close() {
      await running?.stop()
      deliveries.stop()
      await simulation.stop()
      workloads.close()
      await connection.close()
    },
  }
}

function connectRealm({ server, caPem: ca, token }: RealmAccess): RealmConnection {
  const to = {
    server,
    ca,
    namespace: 'default',
    credentials: fixedCredentials({ token }),
    origin: 'the simulated workload',
  }
  const main = connect(to, { clock: systemClock })
  const others: { close(): Promise<void> }[] = []
  return {
    objects: main.objects,
    events: createEvents(main.objects, { clock: systemClock, controller: 'simulation', instance: 'simulation' }),
    informers() {
      const connection = connect(to, { clock: systemClock })
      others.push(connection)
      return connection.informers
    },
    async close() {
      for (const connection of [main, ...others]) await connection.close()
    },
  }
}
