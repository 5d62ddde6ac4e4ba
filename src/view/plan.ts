// A plan as people read it, in the layout of `terraform plan`: what is done to each resource and its attributes.

interface PlanChange {
  readonly address: string
  readonly action: string
  readonly reason?: string
  readonly from?: string
  readonly lines: readonly string[]
}

interface PlanView {
  readonly changes: readonly PlanChange[]
  /** What was changed outside of Terraform. */
  readonly drift?: readonly PlanChange[]
  /** Changes without their attributes. */
  readonly without: number
  readonly outputs: readonly string[]
}

/** Colours a line by the symbol that it begins with; the text itself where colours are not wanted. */
export type PaintLine = (symbol: string, text: string) => string

const SYMBOLS: Readonly<Record<string, string>> = { create: '+', update: '~', delete: '-', replace: '-/+', move: '' }
const VERBS: Readonly<Record<string, string>> = {
  create: 'will be created',
  update: 'will be updated in-place',
  delete: 'will be destroyed',
  replace: 'must be replaced',
}

export function renderPlan({ changes, drift = [], without, outputs }: PlanView, paint: PaintLine): string {
  const outside = renderOutside(drift, paint)
  if (changes.length === 0 && outputs.length === 0) return `${[...outside, 'No changes.'].join('\n\n')}\n`
  const blocks = changes
    .toSorted((a, b) => (a.address < b.address ? -1 : 1))
    .map((change) => renderChange(change, paint))
  const more =
    without > 0 ? [`The attributes of ${without} changes were left out: the summary would be too large.`] : []
  const outputBlock =
    outputs.length > 0 ? [['Changes to Outputs:', ...outputs.map((line) => painted(line, 2, paint))].join('\n')] : []
  return `${[...outside, ...blocks, ...more, ...outputBlock, countText(changes)].join('\n\n')}\n`
}

const DRIFT_VERBS: Readonly<Record<string, string>> = { update: 'has changed', delete: 'has been deleted' }

function renderOutside(drift: readonly PlanChange[], paint: PaintLine): readonly string[] {
  if (drift.length === 0) return []
  const blocks = drift
    .toSorted((a, b) => (a.address < b.address ? -1 : 1))
    .map((change) => renderChange(change, paint, DRIFT_VERBS))
  return ['Changed outside of Terraform since the last apply:', ...blocks, 'What an apply would do:']
}

/** `Plan: 1 to add, 0 to change, 1 to destroy.` A replacement is one of each, as Terraform counts. */
function countText(changes: readonly Pick<PlanChange, 'action'>[]): string {
  const of = (...actions: readonly string[]) => changes.filter(({ action }) => actions.includes(action)).length
  const moved = of('move')
  const counts = `${of('create', 'replace')} to add, ${of('update')} to change, ${of('delete', 'replace')} to destroy`
  return `Plan: ${counts}${moved > 0 ? `, ${moved} moved` : ''}.`
}

function renderChange({ address, action, reason, from, lines }: PlanChange, paint: PaintLine, verbs = VERBS): string {
  const symbol = SYMBOLS[action] ?? ''
  const verb = verbs[action] ?? (action === 'move' ? `was ${from ?? 'elsewhere'}` : `will be: ${action}`)
  const head = [
    `  # ${address} ${verb}`,
    ...(action !== 'move' && from !== undefined ? [`  # (moved from ${from})`] : []),
    ...(reason === undefined ? [] : [`  # (${reason})`]),
  ]
  const opening = `${symbol.padStart(3)} ${resourceText(address)} {`
  return [
    ...head,
    symbol === '' ? opening : paint(symbol, opening),
    ...lines.map((line) => painted(line, 6, paint)),
    '    }',
  ].join('\n')
}

function painted(line: string, indent: number, paint: PaintLine): string {
  const text = `${' '.repeat(indent)}${line}`
  const symbol = line.trimStart()[0] ?? ''
  return ['+', '-', '~'].includes(symbol) && line.trimStart()[1] === ' ' ? paint(symbol, text) : text
}

/** `resource "aws_vpc" "main"` of `module.network.aws_vpc.main[0]`. */
function resourceText(address: string): string {
  const bare = address.replace(/\[(?:"(?:[^"\\]|\\.)*"|\d+)\]/g, '')
  const [type = '', name = ''] = bare.split('.').slice(-2)
  return `resource "${type}" "${name}"`
}
