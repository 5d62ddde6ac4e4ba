// Keeps the Karpenter controller off the nodes Karpenter makes: terminating its own node would stop all provisioning.
// Node-selector terms are ORed, so the guard goes into every term; Helm replaces lists, so it is merged after the user's values.
import { CaptError, isPlainObject } from '#lib'

interface MatchExpression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly MatchExpression[]
  readonly matchFields?: readonly MatchExpression[]
}

export interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms?: readonly NodeSelectorTerm[]
    }
    readonly [key: string]: unknown
  }
  readonly [key: string]: unknown
}

const GUARD_KEYS = ['karpenter.sh/nodepool', 'karpenter.sh/provisioner-name'] as const

/** Both eras' labels: nodes of an older controller may still be there during a migration. */
const PLACEMENT_GUARD: readonly MatchExpression[] = GUARD_KEYS.map((key) => ({ key, operator: 'DoesNotExist' }))

/** The affinity with the guard in every required term. Preferences and pod rules stay as they are. */
export function mergeGuard(affinity: Affinity = {}): Affinity {
  if (!isMapOrAbsent(affinity)) throw refuse('is not a map')
  if (!isMapOrAbsent(affinity.nodeAffinity)) throw refuse('nodeAffinity is not a map')
  const required = affinity.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (!isMapOrAbsent(required)) throw refuse('the required node affinity is not a map')
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        ...required,
        nodeSelectorTerms: guardTerms(required?.nodeSelectorTerms),
      },
    },
  }
}

/**
 * Whether values with this affinity keep the controller off the nodes of Karpenter: what they leave out is the guard of the chart, null
 * takes that away, and a list of terms takes its place.
 */
export function isGuarded(affinity: Affinity | null | undefined): boolean {
  if (affinity === undefined) return true
  const node = affinity?.nodeAffinity
  if (affinity === null || node === null) return false
  const required = node?.requiredDuringSchedulingIgnoredDuringExecution
  if (required === null) return false
  const terms = required?.nodeSelectorTerms
  if (terms === undefined) return true
  const [key] = GUARD_KEYS
  return (
    isTermList(terms) &&
    terms.every(({ matchExpressions = [] }) =>
      matchExpressions.some((own) => own.key === key && own.operator === 'DoesNotExist'),
    )
  )
}

const isMapOrAbsent = (value: unknown) => value === undefined || value === null || isPlainObject(value)

function guardTerms(terms: readonly NodeSelectorTerm[] | null | undefined): NodeSelectorTerm[] {
  if (terms === undefined || terms === null) return [{ matchExpressions: PLACEMENT_GUARD }]
  if (!isTermList(terms)) throw refuse('nodeSelectorTerms is not a list of terms')
  // An empty term matches no node; with the guard added it would suddenly match all others.
  const useful = terms.filter((term) => !isEmpty(term))
  if (useful.length === 0) throw refuse('nodeSelectorTerms has no term that could match a node')
  if (useful.every(contradictsGuard)) throw refuse('every node-selector term asks for nodes that Karpenter makes')
  return useful.map((term) => ({ ...term, matchExpressions: withGuard(term.matchExpressions ?? []) }))
}

/** Values arrive from YAML that people wrote, so the shape is asked, not assumed. */
function isTermList(value: unknown): boolean {
  const isList = (items: unknown) => items === undefined || (Array.isArray(items) && items.every(isPlainObject))
  return (
    Array.isArray(value) &&
    value.every((term) => isPlainObject(term) && isList(term['matchExpressions']) && isList(term['matchFields']))
  )
}

function isEmpty(term: NodeSelectorTerm): boolean {
  return (term.matchExpressions?.length ?? 0) === 0 && (term.matchFields?.length ?? 0) === 0
}

function withGuard(expressions: readonly MatchExpression[]): MatchExpression[] {
  const missing = PLACEMENT_GUARD.filter(
    ({ key }) => !expressions.some((own) => own.key === key && own.operator === 'DoesNotExist'),
  )
  return [...expressions, ...missing]
}

function contradictsGuard(term: NodeSelectorTerm): boolean {
  return (term.matchExpressions ?? []).some(
    ({ key, operator }) => isGuardKey(key) && ['In', 'Exists', 'Gt', 'Lt'].includes(operator),
  )
}

const isGuardKey = (key: string) => (GUARD_KEYS as readonly string[]).includes(key)

const refuse = (what: string) =>
  new CaptError('CAPT_PLACEMENT_IMPOSSIBLE', `affinity: ${what}`, {
    hint: 'select nodes of a managed node group, for example eks.amazonaws.com/nodegroup In [name]',
  })

/** Refuses a plain nodeSelector that only nodes made by Karpenter can satisfy. */
export function checkNodeSelector(nodeSelector: Readonly<Record<string, string>>): void {
  const key = Object.keys(nodeSelector).find(isGuardKey)
  if (key === undefined) return
  throw new CaptError('CAPT_PLACEMENT_IMPOSSIBLE', `nodeSelector: ${key} selects nodes that Karpenter makes`, {
    hint: 'select a label of a managed node group instead',
  })
}
