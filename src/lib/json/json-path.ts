// The JSONPath of printer columns, scale paths and -o jsonpath: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`,
// `.items[*].name`, `.a['b.c']`, `.list[0]`, `..name`. Parsed once, evaluated often; it never throws on data.
import { CaptError } from '../errors.ts'
import { isPlainObject } from './json.ts'

type Step =
  | { readonly is: 'field'; readonly name: string }
  | { readonly is: 'index'; readonly from: number }
  | { readonly is: 'slice'; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly is: 'every' }
  | { readonly is: 'descend'; readonly name: string }
  | { readonly is: 'filter'; readonly test: (item: unknown) => boolean }

type JsonPath = (value: unknown) => readonly unknown[]

export function parseJsonPath(text: string): JsonPath {
  const steps = parseSteps(
    text
      .trim()
      .replace(/^\{(.*)\}$/s, '$1')
      .replace(/^\$/, ''),
    text,
  )
  return (value) => steps.reduce<unknown[]>((values, step) => values.flatMap((item) => take(item, step)), [value])
}

function parseSteps(source: string, whole: string): Step[] {
  const steps: Step[] = []
  let rest = source.startsWith('.') || source.startsWith('[') || source === '' ? source : `.${source}`
  while (rest !== '') {
    const [step, length] = parseStep(rest, whole)
    if (step) steps.push(step)
    rest = rest.slice(length)
  }
  return steps
}

function parseStep(rest: string, whole: string): readonly [Step | undefined, number] {
  const field = /^(\.\.?)((?:\\.|[^.[\]\\])+)/.exec(rest)
  if (field) {
    const name = field[2]!.replace(/\\(.)/g, '$1')
    if (name === '*') return [{ is: 'every' }, field[0].length]
    return [{ is: field[1] === '..' ? 'descend' : 'field', name }, field[0].length]
  }
  if (rest === '.') return [undefined, 1]
  if (rest.startsWith('.[')) return [undefined, 1]
  const bracket = closingBracket(rest)
  if (bracket < 0) throw new CaptError('CAPT_INVALID', `"${whole}" is not a JSONPath that can be used`)
  return [parseBracket(rest.slice(1, bracket).trim(), whole), bracket + 1]
}

function closingBracket(text: string): number {
  let quote = ''
  for (let i = 1; text[0] === '[' && i < text.length; i++) {
    const letter = text[i]!
    if (quote !== '') quote = letter === quote ? '' : quote
    else if (letter === '"' || letter === "'") quote = letter
    else if (letter === ']') return i
  }
  return -1
}

function parseBracket(inner: string, whole: string): Step {
  if (inner === '*') return { is: 'every' }
  const quoted = /^(['"])(.*)\1$/s.exec(inner)
  if (quoted) return { is: 'field', name: quoted[2]! }
  if (/^-?\d+$/.test(inner)) return { is: 'index', from: Number(inner) }
  const slice = /^(-?\d*):(-?\d*)$/.exec(inner)
  if (slice) return { is: 'slice', from: optionalNumber(slice[1]), to: optionalNumber(slice[2]) }
  const filter = /^\?\(\s*@(.*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?)\s*)?\)$/s.exec(inner)
  if (!filter) throw new CaptError('CAPT_INVALID', `"${whole}" is not a JSONPath that can be used`)
  const read = parseSteps(filter[1]!, whole)
  const wanted = filter[3] === undefined ? undefined : literal(filter[3])
  const test = (item: unknown) => {
    const found = read.reduce<unknown[]>((values, step) => values.flatMap((value) => take(value, step)), [item])
    if (filter[2] === undefined) return found.length > 0
    return found.some((value) => compare(value, filter[2]!, wanted))
  }
  return { is: 'filter', test }
}

const optionalNumber = (text: string | undefined) => (text ? Number(text) : undefined)

function literal(text: string): unknown {
  const quoted = /^(['"])(.*)\1$/s.exec(text)
  if (quoted) return quoted[2]
  if (text === 'true' || text === 'false') return text === 'true'
  return Number(text)
}

function compare(value: unknown, operator: string, wanted: unknown): boolean {
  if (operator === '==') return value === wanted
  if (operator === '!=') return value !== wanted
  if (typeof value !== typeof wanted || (typeof value !== 'number' && typeof value !== 'string')) return false
  const [a, b] = [value, wanted as typeof value]
  if (operator === '<') return a < b
  if (operator === '>') return a > b
  return operator === '<=' ? a <= b : a >= b
}

function take(value: unknown, step: Step): readonly unknown[] {
  if (step.is === 'descend') return descend(value, step.name)
  if (step.is === 'every') return Array.isArray(value) ? value : isPlainObject(value) ? Object.values(value) : []
  if (step.is === 'field') {
    return isPlainObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : []
  }
  if (!Array.isArray(value)) return []
  if (step.is === 'filter') return value.filter(step.test)
  if (step.is === 'slice') return value.slice(step.from, step.to)
  const item = value.at(step.from)
  return item === undefined ? [] : [item]
}

function descend(value: unknown, name: string): unknown[] {
  if (value === null || typeof value !== 'object') return []
  const own = isPlainObject(value) && Object.hasOwn(value, name) ? [value[name]] : []
  return [...own, ...Object.values(value).flatMap((inner) => descend(inner, name))]
}
