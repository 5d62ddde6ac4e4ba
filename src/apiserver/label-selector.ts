// Label selectors as clients write them in a query: `a=b,c!=d,e in (f,g),!h`.
import { ownValue } from '#lib'
import { qualifiedProblems } from './kinds/names.ts'
import { badRequest } from './status.ts'

export type LabelTest = (labels: Readonly<Record<string, string>>) => boolean

const KEY = `[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?`
const VALUE = `(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?`
const TERM = new RegExp(
  String.raw`^\s*(?:(!)\s*(${KEY})|(${KEY})\s*(?:(==|=|!=)\s*(${VALUE})|\s(in|notin)\s*\(([^)]*)\)|([<>])\s*(-?\d+))?)\s*$`,
)

/** Undefined when everything matches. */
export function parseLabelSelector(text: string): LabelTest | undefined {
  if (text.trim() === '') return undefined
  const tests = splitTerms(text).map(parseTerm)
  return (labels) => tests.every((test) => test(labels))
}

function parseTerm(text: string): LabelTest {
  const match = TERM.exec(text)
  if (!match) throw badRequest(`unable to parse requirement: found '${text.trim()}', expected: a label selector`)
  const [, , absent, key = '', operator, value = '', membership, list = '', order, bound] = match
  for (const problem of qualifiedProblems(absent ?? key))
    throw badRequest(`unable to parse requirement: <nil>: Invalid value: ${JSON.stringify(absent ?? key)}: ${problem}`)
  if (absent !== undefined) return (labels) => ownValue(labels, absent) === undefined
  if (operator === '!=') return (labels) => ownValue(labels, key) !== value
  if (operator !== undefined) return (labels) => ownValue(labels, key) === value
  if (membership !== undefined) {
    const values = new Set(list.split(',').map((item) => item.trim()))
    const isMember = (value: string | undefined) => value !== undefined && values.has(value)
    return (labels) => isMember(ownValue(labels, key)) === (membership === 'in')
  }
  if (order !== undefined) {
    const isBeyond = (value: number) => (order === '>' ? value > Number(bound) : value < Number(bound))
    return (labels) => isBeyond(Number(ownValue(labels, key)))
  }
  return (labels) => ownValue(labels, key) !== undefined
}

/** Commas inside parentheses belong to the list of values. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth += 1
    if (text[i] === ')') depth -= 1
    if (text[i] !== ',' || depth > 0) continue
    terms.push(text.slice(start, i))
    start = i + 1
  }
  return [...terms, text.slice(start)]
}
