// A second cluster that clusterctl moves, with nodes of every kind: a MachinePool, a core MachineDeployment and a
// CAPTMachineDeployment. It has a workload API of its own, and templates that keep no ledger.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import {
  CAPTBootstrapConfig,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachinePool,
  CAPTMachineSet,
  CAPTMachineTemplate,
  type KindRef,
  kindRef,
  machineKind,
  machinePoolKind,
  type WorkspaceTemplateApply,
} from '#api'
import { connect } from '#kube'
import { TEMPLATES } from '../../../../scripts/template-modules.ts'
import { workspaceTemplate } from '../../../../scripts/templates.ts'
import { nodesOf, syncNodes, toGroup } from '../../../../src/simulation/node-groups.ts'
import { accessOf, isTrue } from '../api.ts'
import { type Kube, startKube } from '../lab.ts'
import type { Loose } from '../loose.ts'
import { machinesOfPage } from '../managers/page-machines.ts'
import { clusterManifests, templates, toText } from '../manifests.ts'
import { playMachines } from '../play-machines.ts'
import { workloadSecret } from '../world.ts'
import type { MoveHome } from './move-homes.ts'

const NAME = 'nodes'
const ROOT = join(import.meta.dirname, '../../../..')
const MachineDeployment = kindRef('cluster.x-k8s.io/v1beta2', 'MachineDeployment')
const MachinePool = machinePoolKind('v1beta2')
/** What goes along beside the kinds of a cluster without nodes. */
const KINDS: readonly KindRef[] = [
  MachinePool,
  MachineDeployment,
  machineKind('v1beta2'),
  CAPTMachinePool,
  CAPTMachineDeployment,
  CAPTMachineSet,
  CAPTMachine,
  CAPTMachineTemplate,
  CAPTBootstrapConfig,
]

export interface Replicas {
  readonly pool: number
  readonly core: number
  readonly own: number
}

export interface MovedNodes {
  apply(home: MoveHome): void
  scale(home: MoveHome, replicas: Replicas): void
  /** All nodes are there, and everyone who counts them has counted them. */
  areWell(home: MoveHome, replicas: Replicas): Promise<boolean>
  /** `Kind name`, sorted. */
  belongings(home: MoveHome): Promise<readonly string[]>
  /** The last run of every workspace of the cluster, sorted. */
  runs(home: MoveHome): Promise<readonly string[]>
  remove(home: MoveHome): Promise<void>
  isGone(home: MoveHome): Promise<boolean>
  stop(): Promise<void>
}

export async function startMovedNodes(homes: () => readonly MoveHome[]): Promise<MovedNodes> {
  const workload = await startKube({ name: 'workload-of-nodes' })
  const connection = connect(accessOf(workload, 'actors'))
  const stops: (() => Promise<void>)[] = []
  const ofCluster = { labelSelector: `cluster.x-k8s.io/cluster-name=${NAME}` }
  const applies = async ({ api, kinds }: MoveHome) =>
    (await api.list(kinds.apply, ofCluster)) as unknown as WorkspaceTemplateApply[]
  return {
    apply(home) {
      for (const { kube } of homes()) stops.push(playMachines(kube, workload))
      home.kube.kubectl(['apply', '-f', '-'], manifests(workload))
    },
    scale({ kube }, { pool, core, own }) {
      for (const [what, replicas] of [
        [`machinepool/${NAME}-workers`, pool],
        ['machinedeployment/batch', core],
        [`captmachinedeployment/${NAME}-machines`, own],
      ] as const)
        kube.kubectl(['scale', what, '--replicas', String(replicas)])
    },
    async areWell(home, { pool, core, own }) {
      const groups = (await applies(home)).flatMap((apply) => toGroup(apply) ?? [])
      await syncNodes(connection.objects, groups.flatMap(nodesOf), Date.now())
      const find = async (kind: KindRef, name: string) => (await home.api.find(kind, name)) ?? {}
      const [pools, deployment, machines] = await Promise.all([
        find(MachinePool, `${NAME}-workers`),
        find(MachineDeployment, 'batch'),
        find(CAPTMachineDeployment, `${NAME}-machines`),
      ])
      return (
        pools['status']?.readyReplicas === pool &&
        deployment['status']?.readyReplicas === core &&
        machines['status']?.availableReplicas === own &&
        isTrue(machines, 'Ready')
      )
    },
    async belongings({ api }) {
      const lists = await Promise.all(KINDS.map((kind) => api.list(kind, { namespace: 'default' })))
      return lists.flatMap((found, i) => found.map(({ metadata }) => `${KINDS[i]!.kind} ${metadata.name}`)).sort()
    },
    runs: async (home) =>
      (await applies(home)).map(({ metadata, status }) => `${metadata.name} ${status?.run?.id}`).sort(),
    remove: ({ api, kinds }) => api.remove(kinds.cluster, NAME),
    isGone: async ({ api, kinds }) => !(await api.find(kinds.cluster, NAME)),
    async stop() {
      for (const stop of stops.splice(0)) await stop()
      await connection.close()
      await workload.stop()
    },
  }
}

/** The examples and the page name the cluster demo. */
function manifests(workload: Kube): string {
  const named = (file: string): Loose[] =>
    parseAllDocuments(readFileSync(join(ROOT, 'examples', file), 'utf8').replaceAll(/\bdemo\b/g, NAME)).map(
      (document) => document.toJS() as Loose,
    )
  const page = JSON.parse(JSON.stringify(machinesOfPage('v1.34.0', 'v1beta2')).replaceAll(/\bdemo\b/g, NAME)) as Loose[]
  const plain = templates().map((template) => {
    template['metadata'].name = `plain-${template['metadata'].name}`
    return template
  })
  const [vpc, eks] = plain.map(({ metadata }) => ({ name: metadata.name as string }))
  const version = { version: 'v1.34.0', workspaceTemplateRef: eks }
  return toText([
    ...plain,
    workspaceTemplate(TEMPLATES.simulatedMachine, { name: TEMPLATES.machine.folder }),
    workloadSecret({ namespace: 'default', name: NAME }, workload),
    ...clusterManifests({ name: NAME, infra: { vpcTemplateRef: vpc }, plane: version }),
    ...named('node-pool.yaml'),
    ...named('machines.yaml'),
    ...page,
  ])
}
