// Where a pod may go, as far as the simulation needs it: selector, required affinity, taints, CPU, one per host. Pure.
import type { AnyObject } from '#api'
import { fieldsOf, hasLabels, isPlainObject, matchesSelector } from '#lib'

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
}

export interface Pod extends AnyObject {
  readonly spec?: {
    readonly nodeName?: string
    readonly nodeSelector?: Readonly<Record<string, string>>
    readonly affinity?: unknown
    readonly tolerations?: readonly {
      readonly key?: string
      readonly operator?: string
      readonly value?: string
      readonly effect?: string
    }[]
    readonly containers?: readonly {
      readonly name?: string
      readonly image?: string
      readonly resources?: { readonly requests?: Readonly<Record<string, string | number>> }
    }[]
  }
  readonly status?: {
    readonly phase?: string
    readonly conditions?: unknown
    readonly startTime?: string
    readonly podIP?: string
  }
}

export interface Node extends AnyObject {
  readonly spec?: {
    readonly taints?: readonly Taint[]
    readonly unschedulable?: boolean
    readonly providerID?: string
  }
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>>; readonly conditions?: unknown }
}

export function parseCpu(quantity: string | number | undefined): number {
  const text = String(quantity ?? 0)
  return text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1000
}

export function cpuOf(pod: Pod): number {
  return (pod.spec?.containers ?? []).reduce((sum, { resources }) => sum + parseCpu(resources?.requests?.['cpu']), 0)
}

/** The first node with room; undefined when there is none. Reasons are counted for the message. */
export function choose(
  pod: Pod,
  nodes: readonly Node[],
  pods: readonly Pod[],
): { readonly node?: Node; readonly message: string } {
  const why = new Map<string, number>()
  for (const node of nodes.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const reason = refusal(pod, node, pods)
    if (!reason) return { node, message: '' }
    why.set(reason, (why.get(reason) ?? 0) + 1)
  }
  const reasons = [...why].sort().map(([reason, count]) => `${count} ${reason}`)
  return { message: `0/${nodes.length} nodes are available${reasons.length > 0 ? `: ${reasons.join(', ')}` : ''}` }
}

function refusal(pod: Pod, node: Node, pods: readonly Pod[]): string | undefined {
  if (node.metadata.deletionTimestamp || node.spec?.unschedulable) return 'node(s) were unschedulable'
  const labels = node.metadata.labels ?? {}
  if (!hasLabels(labels, pod.spec?.nodeSelector) || !matchesAffinity(pod, labels))
    return "node(s) didn't match Pod's node affinity/selector"
  if (!(node.spec?.taints ?? []).every((taint) => bears(pod, taint))) return 'node(s) had untolerated taint(s)'
  const here = pods.filter((other) => other.spec?.nodeName === node.metadata.name && !other.metadata.deletionTimestamp)
  if (isAvoided(pod, here)) return "node(s) didn't match pod anti-affinity rules"
  const used = here.reduce((sum, other) => sum + cpuOf(other), 0)
  return used + cpuOf(pod) > parseCpu(node.status?.allocatable?.['cpu']) ? 'Insufficient cpu' : undefined
}

type Expression = { readonly key: string; readonly operator: string; readonly values?: readonly string[] }

function matchesAffinity({ spec }: Pod, labels: Readonly<Record<string, string>>): boolean {
  const affinity = fieldsOf(fieldsOf(spec?.affinity)['nodeAffinity'])
  const terms = fieldsOf(affinity['requiredDuringSchedulingIgnoredDuringExecution'])['nodeSelectorTerms']
  if (!Array.isArray(terms) || terms.length === 0) return true
  return terms.some(
    (term: unknown) =>
      isPlainObject(term) &&
      matchesSelector({ matchExpressions: term['matchExpressions'] as readonly Expression[] | undefined }, labels),
  )
}

/** The taint does not keep the pod away. */
export function bears({ spec }: Pod, taint: Taint): boolean {
  if (taint.effect === 'PreferNoSchedule') return true
  return (spec?.tolerations ?? []).some(
    ({ key, operator = 'Equal', value, effect }) =>
      (effect === undefined || effect === '' || effect === taint.effect) &&
      (key === undefined || key === '' || key === taint.key) &&
      (operator === 'Exists' || value === taint.value),
  )
}

/** Required anti-affinity on the host name: replicas of one controller do not share a node. */
function isAvoided({ spec }: Pod, here: readonly Pod[]): boolean {
  const affinity = fieldsOf(fieldsOf(spec?.affinity)['podAntiAffinity'])
  const terms = affinity['requiredDuringSchedulingIgnoredDuringExecution']
  if (!Array.isArray(terms)) return false
  return terms.map(fieldsOf).some(({ topologyKey, labelSelector }) => {
    const { matchLabels } = fieldsOf(labelSelector)
    if (topologyKey !== 'kubernetes.io/hostname' || !isPlainObject(matchLabels)) return false
    return here.some((other) => hasLabels(other.metadata.labels, matchLabels))
  })
}
