// Which pods would have nowhere to go when nodes of Karpenter leave a living cluster. The scheduler's rules that can be
// decided from outside: selectors, required affinity, taints, and the room that requests leave. Pure, but for the reader.
import { type AnyObject, NodeKind, PodKind } from '#api'
import { canRunOn, type Placement, type PlacementNode } from '#catalog'
import type { Objects } from '#kube'

interface Node extends AnyObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: PlacementNode['taints'] }
  readonly status?: { readonly allocatable?: Requests }
}

type Requests = Readonly<Record<string, string | undefined>>

interface Pod extends AnyObject {
  readonly spec?: Placement & {
    readonly nodeName?: string
    readonly containers?: readonly { readonly resources?: { readonly requests?: Requests } }[]
  }
  readonly status?: { readonly phase?: string }
}

interface Room {
  readonly node: PlacementNode
  cpu: number
  memory: number
  pods: number
}

const POOL_LABEL = 'karpenter.sh/nodepool'

/** `pools` are those that go; every pool when left out. Names of pods, sorted. */
export function findDisplaced(
  nodes: readonly Node[],
  pods: readonly Pod[],
  pools: ReadonlySet<string> | undefined,
): readonly string[] {
  const goes = ({ metadata }: Node) => {
    const pool = metadata.labels?.[POOL_LABEL]
    return pool !== undefined && (pools === undefined || pools.has(pool))
  }
  const leaving = new Set(nodes.filter(goes).map(({ metadata }) => metadata.name))
  const rooms = new Map(
    nodes
      .filter((node) => !goes(node) && !node.spec?.unschedulable && !node.metadata.deletionTimestamp)
      .map((node) => [node.metadata.name, roomOf(node)]),
  )
  const alive = pods.filter(({ status, metadata }) => !metadata.deletionTimestamp && !isOver(status?.phase))
  for (const pod of alive) take(rooms.get(pod.spec?.nodeName ?? ''), pod)
  const moving = alive.filter((pod) => leaving.has(pod.spec?.nodeName ?? '') && mustMove(pod))
  // The largest first: what fits then fits in any order.
  const displaced = moving
    .sort((a, b) => needOf(b, 'cpu') - needOf(a, 'cpu') || needOf(b, 'memory') - needOf(a, 'memory'))
    .filter((pod) => {
      const room = [...rooms.values()].find((one) => fits(pod, one))
      take(room, pod)
      return room === undefined
    })
  return displaced.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()
}

const isOver = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed'

/** Pods of a DaemonSet and of the node itself end with it, and capt removes its own probe. */
function mustMove({ metadata }: Pod): boolean {
  const isOfNode = (metadata.ownerReferences ?? []).some(({ kind }) => kind === 'DaemonSet' || kind === 'Node')
  return !isOfNode && !metadata.name.startsWith('capt-verify-')
}

function roomOf({ metadata, spec, status }: Node): Room {
  const { cpu, memory, pods } = status?.allocatable ?? {}
  return {
    node: { name: metadata.name, labels: metadata.labels ?? {}, taints: spec?.taints ?? [] },
    // What a node does not report cannot be compared.
    cpu: cpu === undefined ? Number.POSITIVE_INFINITY : toNumber(cpu),
    memory: memory === undefined ? Number.POSITIVE_INFINITY : toNumber(memory),
    pods: pods === undefined ? Number.POSITIVE_INFINITY : toNumber(pods),
  }
}

function fits(pod: Pod, { node, cpu, memory, pods }: Room): boolean {
  return needOf(pod, 'cpu') <= cpu && needOf(pod, 'memory') <= memory && pods >= 1 && canRunOn(pod.spec ?? {}, node)
}

function take(room: Room | undefined, pod: Pod): void {
  if (!room) return
  room.cpu -= needOf(pod, 'cpu')
  room.memory -= needOf(pod, 'memory')
  room.pods -= 1
}

const needOf = ({ spec }: Pod, what: 'cpu' | 'memory'): number =>
  (spec?.containers ?? []).reduce((sum, { resources }) => sum + toNumber(resources?.requests?.[what]), 0)

const FACTORS: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** `500m`, `7Gi`; nothing is zero. */
function toNumber(quantity: string | undefined): number {
  const match = /^([0-9.]+)([a-zA-Z]*)$/.exec(quantity ?? '0')
  return match ? Number(match[1]) * (FACTORS[match[2]!] ?? 1) : 0
}

/** `pools` as above. Karpenter makes room itself where it stays and has another pool. */
export async function readDisplaced(
  objects: Objects,
  pools: ReadonlySet<string> | undefined,
): Promise<readonly string[]> {
  const nodes = await Array.fromAsync(objects.list<Node>(NodeKind))
  const isMade = nodes.some(({ metadata }) => metadata.labels?.[POOL_LABEL] !== undefined)
  if (!isMade) return []
  return findDisplaced(nodes, await Array.fromAsync(objects.list<Pod>(PodKind)), pools)
}
