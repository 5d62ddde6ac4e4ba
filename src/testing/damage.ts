// Makes objects that are nearly right: a fitting one with a few things wrong.
import * as fc from 'fast-check'
import type { JsonSchema } from '#api'
import { isPlainObject, type Json } from '#lib'
import { fitting } from './from-schema.ts'

/** One small damage, at a place and of a kind that the numbers choose. */
interface Damage {
  readonly place: number
  readonly kind: number
}
const damage: fc.Arbitrary<Damage> = fc.record({ place: fc.nat(10_000), kind: fc.nat(10_000) })

/** A fitting value with up to three things wrong (or, by luck, none). */
export function damaged(schema: JsonSchema, maxDamages = 3): fc.Arbitrary<Json> {
  return fc
    .tuple(fitting(schema), fc.array(damage, { minLength: 1, maxLength: maxDamages }))
    .map(([value, damages]) => damages.reduce(spoil, value))
}

const UNKNOWN: readonly Json[] = [
  null,
  true,
  0,
  -1,
  7,
  1.5,
  1e19,
  '',
  'x',
  'Auto',
  ' ',
  'é€😀',
  'a'.repeat(70),
  [],
  ['x'],
  {},
  { x: 1 },
]

/** Damages a value in one place. */
export function spoil(root: Json, { place, kind }: Damage): Json {
  const spots = spotsOf(root)
  const spot = spots[place % spots.length]!
  const others = UNKNOWN.length
  const choice = kind % (others + 5)
  if (choice < others) return replaceAt(root, spot, () => UNKNOWN[choice]!)
  switch (choice - others) {
    case 0:
      return removeAt(root, spot)
    case 1:
      return replaceAt(root, spot, (value) => (isPlainObject(value) ? { ...(value as object), unknown: 1 } : value))
    case 2:
      return replaceAt(root, spot, (value) =>
        Array.isArray(value) && value.length > 0 ? [...value, value[0] as Json] : value,
      )
    case 3:
      return replaceAt(root, spot, (value) => (typeof value === 'number' ? value * -1 - 1 : value))
    default:
      return replaceAt(root, spot, (value) => (typeof value === 'string' ? `${value}\n"` : value))
  }
}

type Spot = readonly (string | number)[]

function spotsOf(value: Json, at: Spot = []): Spot[] {
  if (Array.isArray(value)) return [at, ...value.flatMap((item: Json, i) => spotsOf(item, [...at, i]))]
  if (!isPlainObject(value)) return [at]
  return [at, ...(Object.entries(value) as [string, Json][]).flatMap(([key, item]) => spotsOf(item, [...at, key]))]
}

function replaceAt(root: Json, [step, ...rest]: Spot, change: (value: Json) => Json): Json {
  if (step === undefined) return change(root)
  if (Array.isArray(root)) return root.map((item: Json, i) => (i === step ? replaceAt(item, rest, change) : item))
  const object = root as Readonly<Record<string, Json>>
  return { ...object, [step]: replaceAt(object[step]!, rest, change) }
}

function removeAt(root: Json, spot: Spot): Json {
  const last = spot.at(-1)
  if (last === undefined) return root
  return replaceAt(root, spot.slice(0, -1), (value) => {
    if (Array.isArray(value)) return value.filter((_item, i) => i !== last)
    return Object.fromEntries(Object.entries(value as object).filter(([key]) => key !== last))
  })
}
