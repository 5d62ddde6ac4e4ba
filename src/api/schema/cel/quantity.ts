// Kubernetes resource quantities (100m, 2Gi) in CEL. Held in billionths, as precise as Kubernetes itself is.
import type { Environment } from '@marcbachmann/cel-js'

const NANO = 1_000_000_000n
const BINARY: Readonly<Record<string, bigint>> = {
  Ki: 1n << 10n,
  Mi: 1n << 20n,
  Gi: 1n << 30n,
  Ti: 1n << 40n,
  Pi: 1n << 50n,
  Ei: 1n << 60n,
}
const DECIMAL_POWER: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const SYNTAX = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([KMGTPE]i)|[eE]([+-]?\d+)|([numkMGTPE]?))$/

class Quantity {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

function parse(text: string): Quantity | undefined {
  const match = SYNTAX.exec(text)
  if (!match) return undefined
  const [, sign, digits, binary, exponent, decimal] = match
  const [whole = '', fraction = ''] = digits!.split('.')
  const number = BigInt(whole + fraction || '0')
  const power = (exponent === undefined ? DECIMAL_POWER[decimal ?? '']! : Number(exponent)) - fraction.length
  const scaled = number * NANO * (binary ? BINARY[binary]! : 1n)
  const shift = binary ? -fraction.length : power
  const nanos = shift >= 0 ? scaled * 10n ** BigInt(shift) : divideUp(scaled, 10n ** BigInt(-shift))
  return new Quantity(sign === '-' ? -nanos : nanos)
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by
}

function toQuantity(value: unknown): Quantity {
  if (value instanceof Quantity) return value
  return new Quantity((value as bigint) * NANO)
}

export function registerQuantity(env: Environment): void {
  const sync = { async: false }
  const add = (signature: string, handler: (...args: never[]) => unknown) =>
    void env.registerFunction(signature, handler as (...args: unknown[]) => unknown, sync)

  env.registerType('Quantity', Quantity)
  env.registerOperator('Quantity == Quantity', (a: Quantity, b: Quantity) => a.nanos === b.nanos)
  add('isQuantity(string): bool', (text: string) => parse(text) !== undefined)
  add('quantity(string): Quantity', (text: string) => {
    const found = parse(text)
    if (!found)
      throw new Error(`quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`)
    return found
  })
  add('Quantity.sign(): int', (one: Quantity) => (one.nanos > 0n ? 1n : one.nanos < 0n ? -1n : 0n))
  add('Quantity.isInteger(): bool', isInteger)
  add('Quantity.asInteger(): int', (one: Quantity) => {
    if (!isInteger(one)) throw new Error('cannot convert value to integer')
    return one.nanos / NANO
  })
  add('Quantity.asApproximateFloat(): double', (one: Quantity) => Number(one.nanos) / 1e9)
  for (const other of ['Quantity', 'int']) {
    add(`Quantity.add(${other}): Quantity`, (a: Quantity, b: unknown) => new Quantity(a.nanos + toQuantity(b).nanos))
    add(`Quantity.sub(${other}): Quantity`, (a: Quantity, b: unknown) => new Quantity(a.nanos - toQuantity(b).nanos))
  }
  add('Quantity.isGreaterThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos > b.nanos)
  add('Quantity.isLessThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos < b.nanos)
  add('Quantity.compareTo(Quantity): int', (a: Quantity, b: Quantity) =>
    a.nanos === b.nanos ? 0n : a.nanos > b.nanos ? 1n : -1n,
  )
}

function isInteger(one: Quantity): boolean {
  return one.nanos % NANO === 0n && BigInt.asIntN(64, one.nanos / NANO) === one.nanos / NANO
}
