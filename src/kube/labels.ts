// Label selectors as the API spells them in a query: `app=web,tier!=db,env in (a,b),!legacy`. Pure.
import { ownValue } from '#lib'
import { KubeError } from './port.ts'

export type Labels = Readonly<Record<string, string>> | undefined

const SET = /^(\S+)\s+(in|notin)\s+\(([^()]*)\)$/

/** Splits at commas outside parentheses. */
function parts(selector: string): string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

export function matchesLabels(labels: Labels, selector: string | undefined): boolean {
  const requirements = parts(selector ?? '').map(toRequirement)
  return requirements.every((holds) => holds(labels ?? {}))
}

type Requirement = (labels: Readonly<Record<string, string>>) => boolean

function toRequirement(part: string): Requirement {
  const [, key, operator, list] = SET.exec(part) ?? []
  if (key !== undefined) {
    const values = list!.split(',').map((item) => item.trim())
    const isMember = (value: string | undefined) => value !== undefined && values.includes(value)
    return (labels) => isMember(ownValue(labels, key)) === (operator === 'in')
  }
  const [, name, sign, value] = /^([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)$/.exec(part) ?? []
  if (name !== undefined) return (labels) => (ownValue(labels, name) === value) === (sign !== '!=')
  if (/^![^=!\s]+$/.test(part)) return (labels) => ownValue(labels, part.slice(1)) === undefined
  if (/^[^=!\s()]+$/.test(part)) return (labels) => ownValue(labels, part) !== undefined
  throw new KubeError('Invalid', `labelSelector: "${part}" is not a requirement`, {
    hint: 'write requirements like app=web, tier!=db, env in (a,b), ready or !ready, joined by commas',
  })
}
