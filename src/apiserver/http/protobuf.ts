// Reads the binary form in which Kubernetes' own typed clients send built-in kinds (kubectl create namespace, Go
// controllers). Answers stay JSON, which those clients accept. Field numbers come with the generated types.
import { parseJson, toInteger } from '#lib'
import { wireFields } from '../builtin/types.ts'
import { badRequest } from '../status.ts'

const MAGIC = Buffer.from('k8s\0', 'latin1')

export function decodeProtobuf(bytes: Buffer): unknown {
  if (!bytes.subarray(0, 4).equals(MAGIC)) throw badRequest('the body is not in the Kubernetes protobuf format')
  try {
    const envelope = readFields(bytes.subarray(4))
    const typeMeta = readFields(bytesOf(envelope.get(1)))
    const apiVersion = textOf(typeMeta.get(1))
    const kind = textOf(typeMeta.get(2))
    const name = typeOf(apiVersion, kind)
    if (!wireFields(name)) throw new UnreadableKind(`${apiVersion} ${kind}`)
    return { apiVersion, kind, ...decodeMessage(bytesOf(envelope.get(2)), name) }
  } catch (error) {
    if (error instanceof UnreadableKind) {
      throw badRequest(`${error.message} is not read in protobuf here; send JSON`)
    }
    throw badRequest(`the protobuf body cannot be read: ${(error as Error).message}`)
  }
}

class UnreadableKind extends Error {}

function typeOf(apiVersion: string, kind: string): string {
  if (kind === 'DeleteOptions') return 'meta.v1.DeleteOptions'
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion]
  return `${group!.split('.')[0]}.${version}.${kind}`
}

/** Wire values by field number: numbers as bigint, everything else as bytes. */
type Wire = bigint | Buffer
type WireMessage = ReadonlyMap<number, readonly Wire[]>

function readFields(bytes: Buffer): WireMessage {
  const fields = new Map<number, Wire[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined || shift > 63n) throw new Error('it ends in the middle of a number')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > bytes.length) throw new Error('it ends in the middle of a field')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const wireType = tag & 7
    const value =
      wireType === 0 ? varint() : wireType === 1 ? take(8) : wireType === 2 ? take(Number(varint())) : take(4)
    if (wireType === 3 || wireType === 4 || wireType > 5) throw new Error(`unknown wire type ${wireType}`)
    const number = tag >>> 3
    const known = fields.get(number)
    if (known) known.push(value)
    else fields.set(number, [value])
  }
  return fields
}

const bytesOf = (values: readonly Wire[] | undefined): Buffer => {
  const last = values?.at(-1)
  return Buffer.isBuffer(last) ? last : Buffer.alloc(0)
}
const textOf = (values: readonly Wire[] | undefined) => bytesOf(values).toString('utf8')

interface WireField {
  readonly name: string
  readonly code: string
}
const tables = new Map<string, ReadonlyMap<number, WireField>>()

function tableOf(type: string): ReadonlyMap<number, WireField> {
  const known = tables.get(type)
  if (known) return known
  const table = new Map<number, WireField>()
  for (const [name, code] of Object.entries(wireFields(type) ?? {})) {
    const [number, shape] = code.split(' ') as [string, string]
    if (number !== '0') table.set(Number(number), { name, code: shape })
  }
  tables.set(type, table)
  return table
}

function decodeMessage(bytes: Buffer, type: string): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  const table = tableOf(type)
  for (const [number, values] of readFields(bytes)) {
    const field = table.get(number)
    if (!field) continue
    if (field.name.startsWith('^')) Object.assign(out, decodeMessage(bytesOf(values), field.code.slice(1)))
    else {
      const value = decodeValues(values, field.code)
      // Go writes every plain field, also a zero that JSON would leave out.
      const isZero = /^[silb]$/.test(field.code) && (value === '' || value === 0 || value === false)
      if (value !== undefined && !isZero) out[field.name] = value
    }
  }
  return out
}

function decodeValues(values: readonly Wire[], code: string): unknown {
  if (code.startsWith('[')) {
    const inner = code.slice(code.indexOf(']') + 1)
    return values.map((value) => decodeValue(value, inner))
  }
  if (code.startsWith('{')) {
    const inner = code.slice(code.indexOf('}') + 1)
    return Object.fromEntries(
      values.map((entry) => {
        const fields = readFields(entry as Buffer)
        return [textOf(fields.get(1)), decodeValue(fields.get(2)?.at(-1) ?? Buffer.alloc(0), inner)]
      }),
    )
  }
  return decodeValue(values.at(-1)!, code)
}

function decodeValue(value: Wire, code: string): unknown {
  if (typeof value === 'bigint') {
    return code.toLowerCase() === 'b' ? value !== 0n : toInteger(BigInt.asIntN(64, value))
  }
  if (code === 's' || code === 'S') return value.toString('utf8')
  if (code === 'y') return value.toString('base64')
  if (code === 'n') return value.readDoubleLE(0)
  if (code.startsWith('#') || code.startsWith('%')) return decodeMessage(value, code.slice(1))
  return decodeSpecial(readFields(value), code)
}

/** Types that have their own form in JSON. */
function decodeSpecial(fields: WireMessage, code: string): unknown {
  const number = (index: number) => {
    const found = fields.get(index)?.at(-1)
    return typeof found === 'bigint' ? Number(BigInt.asIntN(64, found)) : 0
  }
  if (code === 'q') return textOf(fields.get(1))
  if (code === 'x') return number(1) === 1 ? textOf(fields.get(3)) : number(2)
  if (code === 't' || code === 'u') {
    const seconds = number(1)
    if (seconds === 0 && number(2) === 0) return undefined
    const text = new Date(seconds * 1000).toISOString().slice(0, 19)
    return code === 't' ? `${text}Z` : `${text}.${`${Math.trunc(number(2) / 1000)}`.padStart(6, '0')}Z`
  }
  const raw = textOf(fields.get(1))
  return raw === '' ? undefined : (parseJson(raw) as unknown)
}
