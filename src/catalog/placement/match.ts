// What the scheduler would say: does this node satisfy these rules? Used to find pods that would have
// nowhere to go, and by the tests to prove the guard.
import { hasLabels, matchesExpression, matchesSelector } from '#lib'
import type { Affinity, NodeSelectorTerm } from './placement.ts'

export interface PlacementNode {
  readonly name?: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints?: readonly Taint[]
}

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect?: string
}

interface Toleration {
  readonly key?: string
  readonly operator?: string
  readonly value?: string
  readonly effect?: string
}

export interface Placement {
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly affinity?: Affinity
  readonly tolerations?: readonly Toleration[]
}

/** Required node affinity alone. Terms are ORed, expressions inside a term are ANDed, an empty term matches nothing. */
export function affinityMatches(affinity: Affinity | undefined, node: PlacementNode): boolean {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (!required) return true
  return (required.nodeSelectorTerms ?? []).some((term) => termMatches(term, node))
}

function termMatches(term: NodeSelectorTerm, node: PlacementNode): boolean {
  const expressions = term.matchExpressions ?? []
  const fields = term.matchFields ?? []
  if (expressions.length === 0 && fields.length === 0) return false
  return (
    matchesSelector({ matchExpressions: expressions }, node.labels) &&
    fields.every((field) => matchesExpression(field, field.key === 'metadata.name' ? node.name : undefined))
  )
}

/** Node selector, required affinity and taints together. */
export function canRunOn(placement: Placement, node: PlacementNode): boolean {
  if (!hasLabels(node.labels, placement.nodeSelector) || !affinityMatches(placement.affinity, node)) return false
  return (node.taints ?? [])
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) => (placement.tolerations ?? []).some((toleration) => tolerates(toleration, taint)))
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  if (!toleration.key && toleration.operator !== 'Exists') return false
  return toleration.operator === 'Exists' || (toleration.value ?? '') === (taint.value ?? '')
}
