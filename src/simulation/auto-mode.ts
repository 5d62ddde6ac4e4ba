// EKS Auto Mode of simulated clusters: when Terraform has made a control plane with it, the workload cluster has no node
// group, but the definitions, the class and the pools that EKS brings. When EKS is destroyed, its machines go with it.
import {
  type AnyObject,
  CustomResourceDefinitionKind,
  type Key,
  type KindRef,
  keyOf,
  NodeKind,
  PodKind,
  type UnknownObject,
  type WorkspaceTemplateApply,
} from '#api'
import { ignore, type Objects } from '#kube'
import { type ApplyActorPorts, applyActor } from './apply-actor.ts'
import { autoModeDefinitions } from './karpenter/chart.ts'
import type { Pod } from './kubernetes/placement.ts'
import { simulatedLedger } from './ledger.ts'
import { NodeClassKind, NodePoolKind, simulated } from './names.ts'

type Mode = 'on' | 'over'

export const autoModeActor = (ports: ApplyActorPorts) =>
  applyActor(ports, {
    name: 'simulation-auto-mode',
    toPart: modeOf,
    toState: ([mode]) => mode,
    needsWorkload: (mode) => mode === 'on',
    play: (mode, cluster, home, workload) => (mode === 'over' ? terminateMachines(home, cluster) : bring(workload!)),
  })

function modeOf({ metadata, status }: Pick<WorkspaceTemplateApply, 'metadata' | 'status'>): Mode | undefined {
  if (!status?.outputs?.['auto_mode']) return undefined
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
