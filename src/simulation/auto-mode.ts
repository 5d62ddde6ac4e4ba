// EKS Auto Mode of simulated clusters: when Terraform has made a control plane with it, the workload cluster has no node
// group, but the definitions, the class and the pools that EKS brings. When EKS is destroyed, its machines go with it.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  CustomResourceDefinitionKind,
  clusterKind,
  type Key,
  type KindRef,
  keyOf,
  keyText,
  NodeKind,
  PodKind,
  type UnknownObject,
  WorkspaceTemplateApply,
} from '#api'
import { ignore, type Objects } from '#kube'
import { act, type Controller, type Decision, done, waiting } from '#runtime'
import { autoModeDefinitions } from './karpenter/chart.ts'
import type { Pod } from './kubernetes/placement.ts'
import { simulatedLedger } from './ledger.ts'
import { NodeClassKind, NodePoolKind, simulated } from './names.ts'

type Mode = 'none' | 'on' | 'over'

interface Observed {
  readonly cluster: Key
  readonly mode: Mode
  readonly isCurrent: boolean
  /** Undefined while nobody plays the workload cluster. */
  readonly workload: Objects | undefined
}

interface AutoModePorts {
  readonly clusterApi: ClusterApiVersion
  readonly accepts: (cluster: AnyObject) => boolean
  readonly workloadOf: (cluster: Key) => Promise<Objects | undefined>
}

const BY_CLUSTER = 'autoModeCluster'
const RETRY_SECONDS = 1

export function autoModeActor(ports: AutoModePorts): Controller<AnyObject, Observed, { readonly do: 'sync' }> {
  // What was last played, by cluster; done again after a restart, which changes nothing.
  const played = new Map<string, Mode>()
  return {
    name: 'simulation-auto-mode',
    kind: clusterKind(ports.clusterApi),
    summary: false,
    accepts: ports.accepts,
    wakes: [
      {
        kind: WorkspaceTemplateApply,
        toKeys: (apply) => {
          const name = apply.metadata.labels?.[CLUSTER_NAME_LABEL]
          return name === undefined ? [] : [{ namespace: apply.metadata.namespace ?? '', name }]
        },
        ignores: (now, before) =>
          modeOf(now as AnyObject as WorkspaceTemplateApply) === modeOf(before as AnyObject as WorkspaceTemplateApply),
      },
    ],
    indexes: [{ kind: WorkspaceTemplateApply, name: BY_CLUSTER, values: clusterOf }],
    async observe({ cache }, object) {
      const cluster = keyOf(object)
      const applies = cache.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
        index: BY_CLUSTER,
        value: keyText(cluster),
      })
      const mode = applies.map(modeOf).find((one) => one !== 'none') ?? 'none'
      const isCurrent = mode === 'none' || played.get(keyText(cluster)) === mode
      return { cluster, mode, isCurrent, workload: isCurrent ? undefined : await ports.workloadOf(cluster) }
    },
    decide: ({ isCurrent, mode, workload }): Decision<{ do: 'sync' }> => {
      if (isCurrent) return done
      if (mode === 'over' || workload) return act({ do: 'sync' })
      return waiting('NoWorkload', 'The workload is not played yet', RETRY_SECONDS)
    },
    async act({ objects }, { cluster, mode, workload }) {
      if (mode === 'over') await terminateMachines(objects, cluster)
      else await bring(workload!)
      played.set(keyText(cluster), mode)
    },
    status: () => ({}),
  }
}

const clusterOf = ({ metadata }: AnyObject): readonly string[] => {
  const name = metadata.labels?.[CLUSTER_NAME_LABEL]
  return name === undefined ? [] : [keyText({ namespace: metadata.namespace ?? '', name })]
}

function modeOf({ metadata, status }: Pick<WorkspaceTemplateApply, 'metadata' | 'status'>): Mode {
  if (!status?.outputs?.['auto_mode']) return 'none'
  return metadata.deletionTimestamp !== undefined && status.run?.verb === 'destroy' ? 'over' : 'on'
}

async function terminateMachines(home: Objects, cluster: Key): Promise<void> {
  const ledger = simulatedLedger(home, cluster)
  for (const { id, isManaged } of await ledger.list()) if (isManaged) await ledger.remove(id)
}

/** What EKS brings with Auto Mode, and nothing of the node group that other clusters begin with. */
async function bring(workload: Objects): Promise<void> {
  const make = async (kind: KindRef, object: UnknownObject) =>
    void (await workload.create<AnyObject>(kind, object).catch(ignore('AlreadyExists')))
  for (const definition of autoModeDefinitions()) await make(CustomResourceDefinitionKind, definition)
  await make(NodeClassKind, classObject())
  for (const pool of [poolObject('general-purpose', []), poolObject('system', [SYSTEM_TAINT])])
    await make(NodePoolKind, pool)
  const gone = new Set<string>()
  for await (const node of workload.list<AnyObject>(NodeKind, { labelSelector: FIRST_NODES })) {
    gone.add(node.metadata.name)
    await workload.delete(NodeKind, keyOf(node)).catch(ignore('NotFound'))
  }
  if (gone.size === 0) return
  // Pods that were placed before: their Deployments make them again.
  for await (const pod of workload.list<Pod>(PodKind))
    if (gone.has(pod.spec?.nodeName ?? '')) await workload.delete(PodKind, keyOf(pod)).catch(ignore('NotFound'))
}

const FIRST_NODES = 'eks.amazonaws.com/nodegroup=simulated'
const SYSTEM_TAINT = { key: 'CriticalAddonsOnly', effect: 'NoSchedule' }

const classObject = (): UnknownObject => ({
  apiVersion: 'eks.amazonaws.com/v1',
  kind: 'NodeClass',
  metadata: { name: 'default', labels: simulated },
  spec: { role: 'simulated' },
})

const poolObject = (name: string, taints: readonly object[]): UnknownObject => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name, labels: simulated },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' },
        requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
        taints,
      },
    },
  },
})
