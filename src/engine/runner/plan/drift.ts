// What a plan says about drift: which of its changes undo changes made outside of Terraform, which follow from other inputs, and which
// from a floating input that resolved differently. Pure: plan, saved state and whether the inputs are those last applied.
import { isPlainObject, type Json, jsonEqual } from '#lib'
import { hasMark } from './diff.ts'
import { type Fields, fieldsOf, listOf, textOf } from './fields.ts'
import { movedData } from './moved-data.ts'
import { actionOf } from './plan-json.ts'

/** Drift: it was changed outside of Terraform. Pending: the inputs ask for it. Upstream: a floating input resolved differently. */
type DriftCause = 'Drift' | 'Pending' | 'Upstream'

interface ExplainedChange {
  /** Of a resource; `output.NAME` where nothing but outputs would change. */
  readonly address: string
  readonly action: string
  readonly cause: DriftCause
}

export interface DriftFinding {
  readonly result: 'InSync' | 'Drifted' | 'PendingChange' | 'UpstreamMoved'
  readonly changes: readonly ExplainedChange[]
  /** Resources that were changed outside of Terraform in a way that an apply leaves alone. */
  readonly ignored: number
  /** Data sources that resolved differently and that a change depends on. */
  readonly sources: readonly string[]
}

/** `state`: the text that the plan was made from. `isAsApplied`: the inputs are those that were last applied. */
export function findDrift(parsed: unknown, state: string | undefined, isAsApplied: boolean): DriftFinding {
  const plan = fieldsOf(parsed)
  const relevant = new Set(listOf(plan['relevant_attributes']).map((one) => textOf(fieldsOf(one)['resource'])))
  const drifted = new Map(listOf(plan['resource_drift']).map(fieldsOf).filter(isManaged).map(toDrifted))
  const sources = movedData(plan, state).filter((address) => relevant.has(address))
  const isConsequence = [...drifted.keys()].some((address) => relevant.has(address))
  const causeOf = (change: Fields, drift: Fields | undefined): DriftCause => {
    if (drift && restores(change, drift)) return 'Drift'
    if (!isAsApplied) return 'Pending'
    return sources.length === 0 && !drift && isConsequence ? 'Drift' : 'Upstream'
  }
  const resources = listOf(plan['resource_changes'])
    .map(fieldsOf)
    .filter(isManaged)
    .flatMap((resource): readonly ExplainedChange[] => {
      const [address, change] = toDrifted(resource)
      const from = textOf(resource['previous_address'])
      const action = actionOf(listOf(change['actions']).map(textOf), from !== '')
      if (action === undefined) return []
      return [{ address, action, cause: causeOf(change, drifted.get(address) ?? drifted.get(from)) }]
    })
  const changes = resources.length > 0 ? resources : outputsOf(plan, (change) => causeOf(change, undefined))
  const touched = new Set(changes.map(({ address }) => address))
  const isIgnored = (address: string) => !touched.has(address) && !(changes.length > 0 && relevant.has(address))
  return { result: resultOf(changes), changes, ignored: [...drifted.keys()].filter(isIgnored).length, sources }
}

/** The plan only undoes changes made outside of Terraform. */
export function isDriftAlone({ changes }: Pick<DriftFinding, 'changes'>): boolean {
  return changes.length > 0 && changes.every(({ cause }) => cause === 'Drift')
}

const isManaged = ({ mode }: Fields): boolean => mode === 'managed'
const toDrifted = (resource: Fields): readonly [string, Fields] => [
  textOf(resource['address']),
  fieldsOf(resource['change']),
]

/** Every attribute that the change sets to a known value gets the value that it had before that change. */
function restores(change: Fields, drift: Fields): boolean {
  if (!isPlainObject(change['after'])) return false
  const before = fieldsOf(change['before'])
  const recorded = fieldsOf(drift['before'])
  const unknown = fieldsOf(change['after_unknown'])
  return Object.entries(fieldsOf(change['after'])).every(([name, value]) => {
    if (hasMark(unknown[name]) || isSame(before[name], value)) return true
    return isSame(recorded[name], value)
  })
}

/** What is not set is null in a plan, and in a state often the empty value of its type. */
function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return jsonEqual(a ?? null, b ?? null) || (isEmpty(a) && isEmpty(b))
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true
  return Array.isArray(value) ? value.length === 0 : isPlainObject(value) && Object.keys(value).length === 0
}

function outputsOf(plan: Fields, causeOf: (change: Fields) => DriftCause): readonly ExplainedChange[] {
  return Object.entries(fieldsOf(plan['output_changes'])).flatMap(([name, output]) => {
    const change = fieldsOf(output)
    const [action = 'no-op'] = listOf(change['actions']).map(textOf)
    return action === 'no-op' ? [] : [{ address: `output.${name}`, action, cause: causeOf(change) }]
  })
}

function resultOf(changes: readonly ExplainedChange[]): DriftFinding['result'] {
  const has = (cause: DriftCause) => changes.some((change) => change.cause === cause)
  if (has('Drift')) return 'Drifted'
  if (has('Upstream')) return 'UpstreamMoved'
  return has('Pending') ? 'PendingChange' : 'InSync'
}
