// The Node of a machine in the workload cluster: read by name, labelled in place, cordoned, emptied and deleted.
import { type AnyObject, findCondition, type Key, NodeKind, PodKind, type UnknownObject } from '#api'
import { ignore, isKubeError, type Objects } from '#kube'
import { isPlainObject, messageOf, redact } from '#lib'
import type { Workloads } from '../shared/workload.ts'

export type NodeState =
  | { readonly is: 'unread' }
  /** The workload cluster does not answer, or has no kubeconfig. */
  | { readonly is: 'unreachable'; readonly message: string }
  | { readonly is: 'absent' }
  | {
      readonly is: 'found'
      readonly name: string
      readonly isReady: boolean
      readonly message: string
      readonly isCordoned: boolean
      readonly labels: Readonly<Record<string, string>>
      /** Labels that capt set, so that it can remove them. */
      readonly managedLabels: readonly string[]
      /** Pods that a drain still has to evict. Read only while the machine is deleted. */
      readonly pods: readonly DrainedPod[]
    }

export interface DrainedPod {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly isGoing: boolean
}

/** A cluster has many machines: its kubeconfig is not read for each look at each of them. */
export const MAX_AGE_SECONDS = 60
const LABELS_ANNOTATION = 'capt.appthrust.com/machine-labels'

interface NodeRequest {
  readonly name: string
  readonly providerId: string
  readonly withPods: boolean
}

type LooseNode = AnyObject & {
  readonly spec?: { readonly providerID?: string; readonly unschedulable?: boolean }
  readonly status?: { readonly conditions?: unknown }
}

export async function readNode(workloads: Workloads, cluster: Key, request: NodeRequest): Promise<NodeState> {
  try {
    const workload = await workloads.open(cluster, MAX_AGE_SECONDS)
    if (!workload) return { is: 'unreachable', message: `Cluster ${cluster.name} has no kubeconfig yet` }
    const node = await workload.objects.get<LooseNode>(NodeKind, { name: request.name })
    // A Node of an earlier instance with the same address is not this one.
    if (!node || node.spec?.providerID !== request.providerId) return { is: 'absent' }
    const ready = findCondition(node.status?.conditions, 'Ready')
    const { labels = {}, annotations = {} } = node.metadata
    return {
      is: 'found',
      name: request.name,
      isReady: ready?.status === 'True',
      message: ready?.message ?? '',
      isCordoned: node.spec?.unschedulable === true,
      labels,
      managedLabels: (annotations[LABELS_ANNOTATION] ?? '').split(',').filter(Boolean),
      pods: request.withPods ? await podsOn(workload.objects, request.name) : [],
    }
  } catch (error) {
    return { is: 'unreachable', message: redact(messageOf(error)) }
  }
}

async function podsOn(objects: Objects, node: string): Promise<readonly DrainedPod[]> {
  const found: DrainedPod[] = []
  for await (const pod of objects.list<UnknownObject>(PodKind, { fieldSelector: `spec.nodeName=${node}` }))
    if (isDrained(pod)) found.push(toDrained(pod))
  return found.toSorted((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1))
}

const toDrained = ({ metadata }: AnyObject): DrainedPod => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid ?? '',
  isGoing: metadata.deletionTimestamp !== undefined,
})

/** Pods of a DaemonSet come back at once, static pods cannot be evicted, and ended pods need not be. */
export function isDrained(pod: UnknownObject): boolean {
  const { ownerReferences = [], annotations = {} } = pod.metadata
  const phase = isPlainObject(pod['status']) ? pod['status']['phase'] : undefined
  if (phase === 'Succeeded' || phase === 'Failed') return false
  if ('kubernetes.io/config.mirror' in annotations) return false
  return !ownerReferences.some(({ kind, controller }) => kind === 'DaemonSet' && controller === true)
}

/** Labels to write, with null for those that capt set earlier; undefined when the Node has them. */
export function labelChange(
  node: Extract<NodeState, { is: 'found' }>,
  wanted: Readonly<Record<string, string>>,
): Readonly<Record<string, string | null>> | undefined {
  const gone = node.managedLabels.filter((key) => !Object.hasOwn(wanted, key))
  const missing = Object.entries(wanted).filter(([key, value]) => node.labels[key] !== value)
  const isRecorded = Object.keys(wanted).every((key) => node.managedLabels.includes(key))
  if (gone.length === 0 && missing.length === 0 && isRecorded) return undefined
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...wanted }
}

export async function labelNode(
  objects: Objects,
  name: string,
  labels: Readonly<Record<string, string | null>>,
): Promise<void> {
  const managed = Object.keys(labels).filter((key) => labels[key] !== null)
  const annotations = { [LABELS_ANNOTATION]: managed.length === 0 ? null : managed.toSorted().join(',') }
  await objects.patch(NodeKind, { name }, { type: 'merge', body: { metadata: { labels, annotations } } })
}

export async function cordonNode(objects: Objects, name: string): Promise<void> {
  await objects.patch(NodeKind, { name }, { type: 'merge', body: { spec: { unschedulable: true } } })
}

/** Evicts each pod, and returns the names of those that a disruption budget holds back. Throws the first other refusal. */
export async function evictPods(objects: Objects, pods: readonly DrainedPod[]): Promise<readonly string[]> {
  const held: string[] = []
  const refusals: unknown[] = []
  for (const { namespace, name, uid } of pods) {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { namespace, name },
      deleteOptions: { preconditions: { uid } },
    }
    try {
      await objects.create<AnyObject>(PodKind, body, { subresource: 'eviction' })
    } catch (error) {
      if (isKubeError(error, 'DisruptionBudget')) held.push(`${namespace}/${name}`)
      // Gone, or another pod of the same name.
      else if (!isKubeError(error, 'NotFound', 'Conflict')) refusals.push(error)
    }
  }
  if (refusals.length > 0) throw refusals[0]
  return held
}

export async function deleteNode(objects: Objects, name: string): Promise<void> {
  await objects.delete(NodeKind, { name }).catch(ignore('NotFound'))
}
