// List and set functions of Kubernetes' CEL.

import { isDeepStrictEqual } from 'node:util'
import type { Environment } from '@marcbachmann/cel-js'
import { spend } from './cost.ts'

type Ordered = bigint | number | string | boolean | Date

/** Equality as CEL has it: 1 equals 1.0. */
function same(a: unknown, b: unknown): boolean {
  spend(1)
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint equals a number of the same value only this way
  if (typeof a === 'bigint' || typeof b === 'bigint') return typeof a !== 'string' && typeof b !== 'string' && a == b
  return isDeepStrictEqual(a, b)
}

function extreme(list: readonly Ordered[], name: string, wins: (a: Ordered, b: Ordered) => boolean): Ordered {
  if (list.length === 0) throw new Error(`${name} called on empty list`)
  return list.reduce((best, item) => (wins(item, best) ? item : best))
}

function sum(list: readonly unknown[]): unknown {
  if (list.length === 0) return 0n
  const [first] = list
  if (typeof first === 'bigint') return (list as bigint[]).reduce((total, item) => total + item, 0n)
  if (typeof first === 'number') return (list as number[]).reduce((total, item) => total + item, 0)
  return (list as { addDuration(other: unknown): unknown }[]).reduce(
    (total, item) => (total as { addDuration(other: unknown): unknown }).addDuration(item) as never,
  )
}

class SetsNamespace {}

export function registerLists(env: Environment): void {
  const sync = { async: false }
  const add = (signature: string, handler: (...args: never[]) => unknown) =>
    void env.registerFunction(signature, handler as (...args: unknown[]) => unknown, sync)

  add('list.isSorted(): bool', (list: readonly Ordered[]) => list.every((item, i) => i === 0 || list[i - 1]! <= item))
  add('list.sum(): dyn', sum)
  add('list.min(): dyn', (list: readonly Ordered[]) => extreme(list, 'min', (a, b) => a < b))
  add('list.max(): dyn', (list: readonly Ordered[]) => extreme(list, 'max', (a, b) => a > b))
  add('list.indexOf(dyn): int', (list: readonly unknown[], wanted: unknown) =>
    BigInt(list.findIndex((item) => same(item, wanted))),
  )
  add('list.lastIndexOf(dyn): int', (list: readonly unknown[], wanted: unknown) =>
    BigInt(list.findLastIndex((item) => same(item, wanted))),
  )

  env.registerType('SetsNamespace', SetsNamespace)
  env.registerConstant('sets', 'SetsNamespace', new SetsNamespace())
  const has = (list: readonly unknown[], wanted: unknown) => list.some((item) => same(item, wanted))
  type Pair = (namespace: unknown, a: readonly unknown[], b: readonly unknown[]) => boolean
  const contains: Pair = (_, a, b) => b.every((item) => has(a, item))
  add('SetsNamespace.contains(list, list): bool', contains as never)
  add(
    'SetsNamespace.equivalent(list, list): bool',
    ((namespace, a, b) => contains(namespace, a, b) && contains(namespace, b, a)) as Pair as never,
  )
  add('SetsNamespace.intersects(list, list): bool', ((_, a, b) => a.some((item) => has(b, item))) as Pair as never)
}
