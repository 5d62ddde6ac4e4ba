// The nodes of simulated node groups: what Terraform applied for a CAPTMachinePool becomes Nodes of the simulated workload
// cluster. A new version or type replaces the nodes; labels and taints change in place, as in EKS.
import { NodeKind, type WorkspaceTemplateApply } from '#api'
import type { Objects, Projected } from '#kube'
import { type Clock, isPlainObject, jsonEqual, shortHash } from '#lib'
import { type ApplyActorPorts, applyActor } from './apply-actor.ts'
import { nodeStatus } from './karpenter/node-claims.ts'
import { hasJoined, joinNode } from './kubernetes/nodes.ts'
import type { Node, Taint } from './kubernetes/placement.ts'
import { simulated } from './names.ts'

const GROUP_LABEL = 'eks.amazonaws.com/nodegroup'
/** The nodes that every simulated cluster has belong to no pool. */
const POOL_NODES = `${GROUP_LABEL},${GROUP_LABEL}!=simulated`

interface NodeGroup {
  readonly name: string
  readonly size: number
  readonly version: string
  readonly type: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
}

export const nodeGroupActor = ({ clock, ...ports }: ApplyActorPorts & { readonly clock: Clock }) =>
  applyActor(ports, {
    name: 'simulation-node-groups',
    toPart: toGroup,
    toState: (groups) => groups.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    needsWorkload: () => true,
    play: (groups, _cluster, _home, workload) => syncNodes(workload!, groups.flatMap(nodesOf), clock.now()),
  })

const EFFECTS: Readonly<Record<string, string>> = {
  NO_SCHEDULE: 'NoSchedule',
  PREFER_NO_SCHEDULE: 'PreferNoSchedule',
  NO_EXECUTE: 'NoExecute',
}

/** The group that an apply made; undefined for other applies, and for one that is being destroyed. */
export function toGroup({ metadata, status }: WorkspaceTemplateApply): NodeGroup | undefined {
  const { nodes, node_group_name: name, kubernetes_version: version } = status?.outputs ?? {}
  if (!isPlainObject(nodes) || typeof name !== 'string' || typeof nodes['size'] !== 'number') return undefined
  if (metadata.deletionTimestamp !== undefined && status?.run?.verb === 'destroy') return undefined
  const taints = Array.isArray(nodes['taints']) ? (nodes['taints'] as Taint[]) : []
  return {
    name,
    size: nodes['size'],
    version: String(version),
    type: Array.isArray(nodes['instance_types']) ? String(nodes['instance_types'][0]) : 'm7i.large',
    labels: (nodes['labels'] ?? {}) as Readonly<Record<string, string>>,
    taints: taints.map(({ key, value, effect }) => ({
      key,
      ...(value ? { value } : {}),
      effect: EFFECTS[effect] ?? effect,
    })),
  }
}

interface Wanted {
  readonly node: Node
  readonly type: string
  readonly version: string
}

/** The name of a node changes with what only a new machine can have. */
export function nodesOf({ name, size, version, type, labels, taints }: NodeGroup): readonly Wanted[] {
  return Array.from({ length: size }, (_, i) => {
    const id = shortHash([name, version, type, i].join('/'), 12)
    const zone = `simulated-1${'abc'[i % 3]}`
    const host = `${name.slice(0, 40)}-${id.slice(0, 8)}`
    const node: Node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: host,
        labels: {
          ...labels,
          ...simulated,
          [GROUP_LABEL]: name,
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': 'amd64',
          'kubernetes.io/hostname': host,
          'node.kubernetes.io/instance-type': type,
          'topology.kubernetes.io/zone': zone,
        },
      },
      spec: { providerID: `aws:///${zone}/i-sim${id}`, taints },
    }
    return { node, type, version }
  })
}

/** Makes the Nodes of all pools what they should be; those of the cluster itself are left alone. */
export async function syncNodes(workload: Objects, wanted: readonly Wanted[], nowMs: number): Promise<void> {
  const there = new Map<string, Projected<Node> | Node>()
  for await (const node of workload.list<Node>(NodeKind, { labelSelector: POOL_NODES }))
    there.set(node.metadata.name, node)
  for (const { node, type, version } of wanted) {
    const found = there.get(node.metadata.name)
    there.delete(node.metadata.name)
    if (!hasJoined(found))
      await joinNode(workload, node, { ...nodeStatus(nowMs, type), nodeInfo: { kubeletVersion: `v${version}.0` } })
    else await relabel(workload, found!, node)
  }
  // New machines come before old ones go.
  for (const [name] of there) await workload.delete(NodeKind, { name })
}

async function relabel(workload: Objects, found: Node, { metadata, spec }: Node): Promise<void> {
  const { labels = {} } = found.metadata
  const gone = Object.keys(labels).filter((key) => metadata.labels?.[key] === undefined)
  if (gone.length === 0 && jsonEqual(labels, metadata.labels) && jsonEqual(found.spec?.taints ?? [], spec?.taints))
    return
  const body = {
    metadata: { labels: { ...Object.fromEntries(gone.map((key) => [key, null])), ...metadata.labels } },
    spec: { taints: spec?.taints },
  }
  await workload.patch(NodeKind, { name: metadata.name }, { type: 'merge', body })
}
