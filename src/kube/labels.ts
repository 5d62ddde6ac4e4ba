// Label selectors as the API spells them in a query: `app=web,tier!=db,env in (a,b),!legacy`. Pure.
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
  return parts(selector ?? '').every((part) => matches(labels ?? {}, part))
}

function matches(labels: Readonly<Record<string, string>>, part: string): boolean {
  const set = SET.exec(part)
  if (set) {
    const value = labels[set[1]!]
    const isIn = value !== undefined && set[3]!.split(',').some((item) => item.trim() === value)
    return set[2] === 'in' ? isIn : !isIn
  }
  const pair = /^([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)$/.exec(part)
  if (pair) return (labels[pair[1]!] === pair[3]) === (pair[2] !== '!=')
  if (/^![^=!\s]+$/.test(part)) return labels[part.slice(1)] === undefined
  if (/^[^=!\s()]+$/.test(part)) return labels[part] !== undefined
  throw new KubeError('Invalid', `labelSelector: "${part}" is not a requirement`, {
    hint: 'write requirements like app=web, tier!=db, env in (a,b), ready or !ready, joined by commas',
  })
}
