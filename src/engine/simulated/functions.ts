// The functions of Terraform that simulated modules use.
import { isIPv4 } from 'node:net'
import { CaptError, isPlainObject, type Json, ownValue, parseJson, sha256 } from '#lib'
import { unsupported } from './expression.ts'

type Fn = (...args: Json[]) => Json

const text = (value: Json | undefined): string => {
  if (typeof value === 'string') return value
  if (/^(number|bigint|boolean)$/.test(typeof value)) return String(value)
  throw new CaptError('CAPT_TF_INVALID', `${JSON.stringify(value)} is not text`, { hint: 'correct the template' })
}
const list = (value: Json | undefined): Json[] =>
  Array.isArray(value) ? [...value] : isPlainObject(value) ? (Object.values(value) as Json[]) : []
const object = (value: Json | undefined) => (isPlainObject(value) ? (value as { [key: string]: Json }) : {})

const FUNCTIONS: Readonly<Record<string, Fn>> = {
  base64encode: (value) => Buffer.from(text(value)).toString('base64'),
  base64decode: (value) => Buffer.from(text(value), 'base64').toString('utf8'),
  cidrsubnet: (prefix, bits, number) => subnetOf(text(prefix), Number(bits), Number(number)),
  coalesce: (...values) => values.find((value) => value !== null && value !== '') ?? null,
  concat: (...lists) => lists.flatMap(list),
  contains: (values, value) => list(values).some((one) => one === value),
  element: (values, index) => list(values)[Number(index) % Math.max(1, list(values).length)] ?? null,
  format: (form, ...values) => formatText(text(form), values),
  join: (separator, values) => list(values).map(text).join(text(separator)),
  jsondecode: (value) => parseJson(text(value)) as Json,
  jsonencode: (value) => sortedJson(value ?? null),
  keys: (value) => Object.keys(object(value)).sort(),
  length: (value) =>
    typeof value === 'string'
      ? [...value].length
      : isPlainObject(value)
        ? Object.keys(value).length
        : list(value).length,
  lookup: (values, key, fallback) => object(values)[text(key)] ?? fallback ?? null,
  lower: (value) => text(value).toLowerCase(),
  max: (...values) => Math.max(...values.map(Number)),
  merge: (...values) => Object.assign({}, ...values.map(object)) as Json,
  min: (...values) => Math.min(...values.map(Number)),
  nonsensitive: (value) => value ?? null,
  parseint: (value, base) => Number.parseInt(text(value), Number(base)),
  range: (...args) => rangeOf(args.map(Number)),
  replace: (value, from, to) => text(value).replaceAll(text(from), text(to)),
  sensitive: (value) => value ?? null,
  sha256: (value) => sha256(text(value)),
  split: (separator, value) => text(value).split(text(separator)),
  substr: (value, offset, length) => {
    const from = Number(offset)
    return text(value).slice(from, Number(length) < 0 ? undefined : from + Number(length))
  },
  title: (value) => text(value).replace(/\b\w/g, (char) => char.toUpperCase()),
  tolist: (value) => list(value),
  tomap: (value) => object(value),
  tonumber: (value) => (value === null ? null : Number(value)),
  toset: (value) => [...new Set(list(value))].sort() as Json,
  tostring: (value) => (value === null ? null : text(value)),
  trimprefix: (value, prefix) =>
    text(value).startsWith(text(prefix)) ? text(value).slice(text(prefix).length) : text(value),
  trimspace: (value) => text(value).trim(),
  upper: (value) => text(value).toUpperCase(),
  values: (value) =>
    Object.keys(object(value))
      .sort()
      .map((key) => object(value)[key]!),
}

export function callFunction(name: string, args: Json[]): Json {
  const fn = ownValue(FUNCTIONS, name)
  if (!fn) throw unsupported(`the function ${name}`)
  return fn(...args)
}

/** As Terraform writes it: keys in order, nothing but the value. */
function sortedJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`
  if (!isPlainObject(value)) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${sortedJson(inner as Json)}`).join(',')}}`
}

function rangeOf([a = 0, b, step = 1]: number[]): Json {
  const [from, to] = b === undefined ? [0, a] : [a, b]
  const out: number[] = []
  for (let at = from; step > 0 ? at < to : at > to; at += step) out.push(at)
  return out
}

function formatText(form: string, values: readonly Json[]): string {
  let next = 0
  return form.replace(/%(0\d+)?([sdv%])/g, (_whole, pad: string | undefined, verb: string) => {
    if (verb === '%') return '%'
    const value = values[next++] ?? ''
    const shown = typeof value === 'object' ? sortedJson(value) : String(value)
    return pad === undefined ? shown : shown.padStart(Number(pad), '0')
  })
}

function subnetOf(prefix: string, bits: number, number: number): string {
  const [address = '', size = ''] = prefix.split('/')
  if (!isIPv4(address)) throw unsupported(`cidrsubnet of ${prefix}`)
  const length = Number(size) + bits
  const base = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  const found = base + number * 2 ** (32 - length)
  return `${[24, 16, 8, 0].map((shift) => Math.floor(found / 2 ** shift) % 256).join('.')}/${length}`
}
