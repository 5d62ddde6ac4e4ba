// Reads the answer of `terraform show -json` for a plan: the changes with their attributes, which texts are secret by the
// plan's own marks, and what the plan is identified by. Pure.
import type { Json } from '#lib'
import { stringsIn } from '../../secrets.ts'
import { type PlannedChange, reasonText } from './changes.ts'
import { diffLines, hasMark } from './diff.ts'
import { type Fields, fieldsOf, listOf, textOf } from './fields.ts'

export interface DetailedChange extends PlannedChange {
  /** Attributes, in the layout of `terraform plan`. */
  readonly lines: readonly string[]
}

export interface PlanDetail {
  readonly changes: readonly DetailedChange[]
  /** What was changed outside of Terraform since the last apply. */
  readonly drift: readonly DetailedChange[]
  /** Changes of outputs, in the same layout. */
  readonly outputs: readonly string[]
  /** Every text that the plan marks as sensitive, wherever else it may stand without a mark. */
  readonly secrets: readonly string[]
  /** All that makes this plan another than others: every value before and after. It contains secrets. */
  readonly content: unknown
}

export function readPlanJson(parsed: unknown): PlanDetail {
  const plan = fieldsOf(parsed)
  const resources = listOf(plan['resource_changes']).map(fieldsOf)
  const managed = resources.filter(({ mode }) => mode === 'managed')
  const outputs = Object.entries(fieldsOf(plan['output_changes'])).map(([name, change]) => ({
    name,
    change: fieldsOf(change),
  }))
  const root = fieldsOf(fieldsOf(plan['configuration'])['root_module'])
  return {
    changes: managed.flatMap(toChange),
    drift: listOf(plan['resource_drift']).map(fieldsOf).flatMap(toChange),
    outputs: outputLines(outputs),
    secrets: [
      ...[...resources.map(({ change }) => fieldsOf(change)), ...outputs.map(({ change }) => change)].flatMap(
        secretsOf,
      ),
      ...listOf(plan['resource_drift']).flatMap((drift) => secretsOf(fieldsOf(fieldsOf(drift)['change']))),
      ...secretVariables(fieldsOf(root['variables']), fieldsOf(plan['variables'])),
    ],
    content: {
      resources: resources.map(identityOf).filter((one) => one !== undefined),
      outputs: outputs.map(({ name, change }) => [
        name,
        change['actions'],
        change['before'],
        change['after'],
        change['after_unknown'],
      ]),
    },
  }
}

function toChange(resource: Fields): readonly DetailedChange[] {
  const change = fieldsOf(resource['change'])
  const from = textOf(resource['previous_address'])
  const action = actionOf(listOf(change['actions']).map(textOf), from !== '')
  if (action === undefined) return []
  const forces = listOf(change['replace_paths']).map((path) => pathText(listOf(path)))
  const reason = reasonText(textOf(resource['action_reason']), forces)
  return [
    {
      address: textOf(resource['address']),
      action,
      ...(reason === undefined ? {} : { reason }),
      ...(from === '' ? {} : { from }),
      lines: linesOf(change, new Set(forces)),
    },
  ]
}

export function actionOf(actions: readonly string[], isMoved: boolean): string | undefined {
  if (actions.includes('delete') && actions.includes('create')) return 'replace'
  const [action = 'no-op'] = actions
  if (action === 'no-op') return isMoved ? 'move' : undefined
  return action === 'read' ? undefined : action
}

const linesOf = (change: Fields, forces: ReadonlySet<string>): readonly string[] =>
  diffLines({
    before: change['before'] ?? null,
    after: change['after'] ?? null,
    unknown: change['after_unknown'] ?? false,
    beforeSensitive: change['before_sensitive'] ?? false,
    afterSensitive: change['after_sensitive'] ?? false,
    forces,
  })

function pathText(path: readonly Json[]): string {
  return path
    .map((step, index) => (typeof step === 'string' ? `${index > 0 ? '.' : ''}${step}` : `[${String(step)}]`))
    .join('')
}

function outputLines(outputs: readonly { readonly name: string; readonly change: Fields }[]): readonly string[] {
  const at = (field: string): Json =>
    Object.fromEntries(outputs.map(({ name, change }) => [name, change[field] ?? null]))
  if (outputs.every(({ change }) => textOf(listOf(change['actions'])[0]) === 'no-op')) return []
  const marks = { beforeSensitive: at('before_sensitive'), afterSensitive: at('after_sensitive') }
  return diffLines({
    before: at('before'),
    after: at('after'),
    unknown: at('after_unknown'),
    ...marks,
    forces: new Set(),
  })
}

function secretsOf(change: Fields): readonly string[] {
  return [
    ...markedTexts(change['before'], change['before_sensitive']),
    ...markedTexts(change['after'], change['after_sensitive']),
  ]
}

function markedTexts(value: Json | undefined, mark: Json | undefined): readonly string[] {
  if (mark === true) return stringsIn(value)
  if (!hasMark(mark)) return []
  if (Array.isArray(value)) return value.flatMap((inner: Json, index) => markedTexts(inner, listOf(mark)[index]))
  return Object.entries(fieldsOf(value)).flatMap(([key, inner]) => markedTexts(inner, fieldsOf(mark)[key]))
}

function secretVariables(declared: Fields, given: Fields): readonly string[] {
  return Object.entries(declared)
    .filter(([, variable]) => fieldsOf(variable)['sensitive'] === true)
    .flatMap(([name, variable]) => stringsIn([fieldsOf(given[name])['value'], fieldsOf(variable)['default']]))
}

/** Undefined where nothing is done. Marks of sensitivity belong to it: they decide what people were shown. */
function identityOf(resource: Fields): unknown {
  const { address, previous_address, deposed, change } = resource
  const actions = listOf(fieldsOf(change)['actions']).map(textOf)
  if (actions.every((action) => action === 'no-op') && previous_address === undefined) return undefined
  return { address, previous_address, deposed, change }
}
