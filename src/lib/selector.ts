// Label selectors: as objects state them (matchLabels, matchExpressions) and as queries spell them
// (`app=web,tier!=db,env in (a,b),!legacy`). Pure.
import { ownValue } from './json/own.ts'

type Labels = Readonly<Record<string, string>>

interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[] | undefined
}

interface LabelSelector {
  readonly matchLabels?: Labels | undefined
  readonly matchExpressions?: readonly Requirement[] | undefined
}

/** An empty selector matches everything. */
export function matchesSelector({ matchLabels, matchExpressions = [] }: LabelSelector, labels: Labels = {}): boolean {
  return (
    hasLabels(labels, matchLabels) &&
    matchExpressions.every((requirement) => matchesExpression(requirement, ownValue(labels, requirement.key)))
  )
}

/** Whether the labels hold all of the wanted ones. */
export function hasLabels(labels: Labels | undefined, wanted: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => ownValue(labels, key) === value)
}

/** One requirement over the value that its key has. An operator that is not known matches nothing. */
export function matchesExpression(
  { operator, values = [] }: Omit<Requirement, 'key'>,
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0])
    case 'Lt':
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0])
    default:
      return false
  }
}

const isInteger = (text: string | undefined): text is string => text !== undefined && /^-?\d+$/.test(text)

const KEY = '[^\\s!=<>(),]+'
const VALUE = `(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?`
const REQUIREMENT = new RegExp(
  String.raw`^\s*(?:!\s*(${KEY})|(${KEY})\s*(?:(==|=|!=)\s*(${VALUE})|\s(in|notin)\s*\(([^()]*)\)|([<>])\s*(-?\d+))?)\s*$`,
)

/** The requirements of a query. `refuse` returns the error for one that cannot be read, and `check` sees each key. */
export function parseSelector(
  text: string,
  refuse: (requirement: string) => Error,
  check: (key: string) => void = () => undefined,
): readonly Requirement[] {
  if (text.trim() === '') return []
  // Commas inside parentheses belong to the list of values.
  return text.split(/,(?![^(]*\))/).map((part) => {
    const requirement = parseRequirement(part)
    if (!requirement) throw refuse(part.trim())
    check(requirement.key)
    return requirement
  })
}

function parseRequirement(text: string): Requirement | undefined {
  const match = REQUIREMENT.exec(text)
  if (!match) return undefined
  const [, absent, key = '', sign, value = '', membership, list = '', order, bound = ''] = match
  if (absent !== undefined) return { key: absent, operator: 'DoesNotExist' }
  if (sign !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] }
  if (membership !== undefined)
    return {
      key,
      operator: membership === 'in' ? 'In' : 'NotIn',
      values: list.split(',').map((item) => item.trim()),
    }
  if (order !== undefined) return { key, operator: order === '>' ? 'Gt' : 'Lt', values: [bound] }
  return { key, operator: 'Exists' }
}
