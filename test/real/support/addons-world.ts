// Two clusters with add-ons in one lab: their workload API servers by name, what core wrote there, and the objects that
// the stories look at.
import type { KindRef } from '#api'
import { FAULTS } from '#simulation'
import { type Api, conditionOf, openApi } from './api.ts'
import { isWrite, type Request, requestsSince } from './audit.ts'
import type { CapiVersion, Kube } from './lab.ts'
import type { Loose } from './loose.ts'
import { type Recorder, record } from './recorder.ts'
import { eventually, HOME_NAMESPACE, startWorld, type World } from './world.ts'

export const GATE = 'karpenter.sh/enabled'
export const CLUSTERS = ['east', 'west'] as const
export type ClusterName = (typeof CLUSTERS)[number]

const namespaced = (group: string, version: string, kind: string, plural: string): KindRef => ({
  group,
  version,
  kind,
  plural,
  namespaced: true,
})
export const HelmRelease = namespaced('helm.toolkit.fluxcd.io', 'v2', 'HelmRelease', 'helmreleases')
export const OCIRepository = namespaced('source.toolkit.fluxcd.io', 'v1', 'OCIRepository', 'ocirepositories')
export const NodePool = { ...namespaced('karpenter.sh', 'v1', 'NodePool', 'nodepools'), namespaced: false }
export const EC2NodeClass = {
  ...namespaced('karpenter.k8s.aws', 'v1', 'EC2NodeClass', 'ec2nodeclasses'),
  namespaced: false,
}
export const Widget = namespaced('example.com', 'v1', 'Widget', 'widgets')

export interface AddonLab {
  readonly world: World
  readonly recorder: Recorder
  /** Reads and writes in the workload of a cluster. */
  readonly there: Readonly<Record<ClusterName, Api>>
  delivery(name: string): Promise<Loose>
  stage(name: string, stage: string): Promise<Loose | undefined>
  until(what: string, check: () => boolean | Promise<boolean>, seconds?: number): Promise<void>
  /** Waits until the delivery is ready for the current generation. */
  ready(name: string): Promise<void>
  /** What core has written to the workload: it uses the kubeconfig of the cluster, under its own program's name. */
  coreWrites(name: ClusterName): Request[]
  /** What capt has written to the management cluster. */
  ownWrites(): Request[]
  setFaults(name: ClusterName, faults: Readonly<Record<string, string>>): Promise<void>
  clearFaults(name: ClusterName): Promise<void>
  stop(): Promise<void>
}

export async function startAddonLab(version: CapiVersion): Promise<AddonLab> {
  const world = await startWorld(version, { audit: true, workloads: CLUSTERS.length })
  const { api, kinds } = world
  const recorder = await record(world.management, [kinds.plane, kinds.delivery])
  const servers = Object.fromEntries(CLUSTERS.map((name, i) => [name, world.workloads[i]!])) as Record<string, Kube>
  const there = Object.fromEntries(CLUSTERS.map((name) => [name, openApi(servers[name]!)])) as Record<ClusterName, Api>
  for (const name of CLUSTERS) await world.play({ namespace: 'default', name }, servers[name])
  const delivery = (name: string) => api.get(kinds.delivery, name)
  const until: AddonLab['until'] = (what, check, seconds = 240) => eventually(world, what, check, seconds)
  const writesTo = (kube: Kube) => requestsSince(kube).filter(isWrite)
  return {
    world,
    recorder,
    there,
    delivery,
    stage: async (name, stage) =>
      (await delivery(name))['status']?.stages?.find((one: { name: string }) => one.name === stage),
    until,
    ready: (name) =>
      until(`the delivery of ${name} is ready`, async () => {
        const found = await delivery(name)
        const condition = conditionOf(found, 'Ready')
        return condition?.['status'] === 'True' && condition['observedGeneration'] === found['metadata'].generation
      }),
    coreWrites: (name) => writesTo(servers[name]!).filter(({ agent }) => agent.startsWith('capi-manager')),
    ownWrites: () => writesTo(world.management).filter(({ user }) => user === 'capt'),
    async setFaults(name, data) {
      await there[name].create(kinds.config, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...FAULTS }, data })
    },
    clearFaults: (name) => there[name].remove(kinds.config, FAULTS.name, FAULTS.namespace),
    async stop() {
      for (const open of Object.values(there)) open.close()
      await recorder.stop()
      await world.stop()
    },
  }
}

const KARPENTERS = new Set(['helmreleases', 'nodepools', 'ec2nodeclasses'])

export const isKarpenters = ({ resource, name }: Request): boolean =>
  KARPENTERS.has(resource) || (resource === 'ocirepositories' && name === 'karpenter')

/** A pipeline of somebody's own that brings an object of a kind which the workload does not serve yet. */
export function widgetPipeline(): readonly Loose[] {
  const widget = 'apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: first\n  namespace: default\n'
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'widgets', namespace: HOME_NAMESPACE },
      data: { 'w.yaml': widget },
    },
    {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'AddonPipeline',
      metadata: { name: 'widgets', namespace: HOME_NAMESPACE },
      spec: {
        clusterSelector: { matchLabels: { widgets: 'wanted' } },
        allNamespaces: true,
        stages: [
          {
            name: 'widgets',
            resources: [{ kind: 'ConfigMap', name: 'widgets' }],
            retry: { limit: 100, backoff: '2s' },
          },
        ],
      },
    },
  ]
}

export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: Widget.group,
    scope: 'Namespaced',
    names: { kind: Widget.kind, plural: Widget.plural, singular: 'widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}
