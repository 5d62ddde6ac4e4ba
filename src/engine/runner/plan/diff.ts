// The attributes that a change would alter, as lines in the layout of `terraform plan`. Pure. A value that the plan marks as
// sensitive is never written; which texts are secret everywhere else is up to the caller's redactor.
import { isPlainObject, type Json, jsonEqual, ownValue } from '#lib'

interface AttributeChange {
  readonly before: Json
  readonly after: Json
  /** True, or an object with true where a value is known after the apply. */
  readonly unknown: Json
  readonly beforeSensitive: Json
  readonly afterSensitive: Json
  /** Attributes that force a replacement: `input.cidr`. */
  readonly forces: ReadonlySet<string>
}

export const SENSITIVE = '(sensitive value)'
const UNKNOWN = '(known after apply)'
/** Shown although they did not change, because they identify the resource. */
const IDENTIFYING = ['id', 'name']
const MAX_VALUE = 400

export function diffLines(change: AttributeChange): readonly string[] {
  return members(change, '', 0)
}

type Kind = 'created' | 'deleted' | 'changed'
const SYMBOLS: Readonly<Record<Kind, string>> = { created: '+', deleted: '-', changed: '~' }

/** The members of an object or a list; those that stay as they are become one line with their number. */
function members(change: AttributeChange, path: string, depth: number): readonly string[] {
  const isList = [change.before, change.after].some(Array.isArray)
  const keys = keysOf(change).filter((key) => isList || !isAbsent(memberOf(change, key)))
  const width = Math.max(0, ...keys.map((key) => key.length))
  const lines: string[] = []
  let hidden = 0
  for (const key of keys) {
    const inner = memberOf(change, key)
    const at = isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    const label = isList ? '' : `${key.padEnd(width)} = `
    if (isSame(inner)) {
      if (depth === 0 && IDENTIFYING.includes(key) && inner.before !== null)
        lines.push(line(' ', depth, `${label}${text(inner.before, inner.beforeSensitive)}`))
      else hidden++
    } else lines.push(...member(inner, label, at, depth))
  }
  if (hidden > 0) {
    const what = isList ? 'element' : 'attribute'
    lines.push(line(' ', depth, `# (${hidden} unchanged ${what}${hidden > 1 ? 's' : ''} hidden)`))
  }
  return lines
}

function member(change: AttributeChange, label: string, path: string, depth: number): readonly string[] {
  const kind = kindOf(change)
  const forces = change.forces.has(path) ? ' # forces replacement' : ''
  const symbol = SYMBOLS[kind]
  const isNested =
    change.unknown !== true &&
    change.beforeSensitive !== true &&
    change.afterSensitive !== true &&
    [change.before, change.after].every((value) => value === null || isPlainObject(value) || Array.isArray(value)) &&
    !isEmpty(change.before) &&
    !isEmpty(change.after) &&
    Array.isArray(change.before ?? change.after) === Array.isArray(change.after ?? change.before)
  if (isNested) {
    const [open, close] = Array.isArray(change.before ?? change.after) ? ['[', ']'] : ['{', '}']
    const end = kind === 'deleted' ? ' -> null' : ''
    return [
      line(symbol, depth, `${label}${open}${forces}`),
      ...members(change, path, depth + 1),
      line(' ', depth, `${close}${end}`),
    ]
  }
  const before = text(change.before, change.beforeSensitive)
  const after = change.unknown === true ? UNKNOWN : text(change.after, change.afterSensitive)
  const value = { created: after, deleted: `${before} -> null`, changed: `${before} -> ${after}` }[kind]
  return [line(symbol, depth, `${label}${value}${forces}`)]
}

function kindOf({ before, after, unknown }: AttributeChange): Kind {
  if (before === null) return 'created'
  return after === null && unknown !== true ? 'deleted' : 'changed'
}

function keysOf({ before, after, unknown }: AttributeChange): readonly string[] {
  const values = [before, after, unknown]
  if (values.some(Array.isArray)) {
    const length = Math.max(...values.map((value) => (Array.isArray(value) ? value.length : 0)))
    return Array.from({ length }, (_, index) => String(index))
  }
  return [...new Set(values.flatMap((value) => (isPlainObject(value) ? Object.keys(value) : [])))].sort()
}

function memberOf(change: AttributeChange, key: string): AttributeChange {
  const at = (value: Json): Json => {
    if (Array.isArray(value)) return (value as readonly Json[])[Number(key)] ?? null
    return isPlainObject(value) ? (ownValue(value as Record<string, Json>, key) ?? null) : null
  }
  const mark = (value: Json): Json => (value === true ? true : at(value))
  return {
    before: at(change.before),
    after: at(change.after),
    unknown: mark(change.unknown),
    beforeSensitive: mark(change.beforeSensitive),
    afterSensitive: mark(change.afterSensitive),
    forces: change.forces,
  }
}

const isSame = ({ before, after, unknown }: AttributeChange): boolean => !hasMark(unknown) && jsonEqual(before, after)
const isAbsent = ({ before, after, unknown }: AttributeChange): boolean =>
  before === null && after === null && !hasMark(unknown)
const isEmpty = (value: Json): boolean => value !== null && typeof value === 'object' && Object.keys(value).length === 0

/** Something below is marked. */
export function hasMark(mark: Json | undefined): boolean {
  if (typeof mark !== 'object' || mark === null) return mark === true
  return Object.values(mark).some(hasMark)
}

function text(value: Json, sensitive: Json): string {
  if (hasMark(sensitive)) return SENSITIVE
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner))
}

/** Lines are cut only after secrets were masked: half a secret would not be recognized. */
export function cutLine(given: string): string {
  return given.length > MAX_VALUE ? `${given.slice(0, MAX_VALUE)}…` : given
}

const line = (symbol: string, depth: number, rest: string): string => `${'    '.repeat(depth)}${symbol} ${rest}`
