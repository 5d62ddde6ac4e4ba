import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isPlainObject, type Json } from '#lib'
import { damaged, fitting } from '#testing'
import { ALL_KINDS } from '../kinds/index.ts'
import type { JsonSchema } from './build.ts'
import { compileSchema } from './compile.ts'

const RUNS = { numRuns: 25 }

/** Every feature that changes a value, and no rule that could refuse a fitting one. */
const SAMPLE: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 5 },
    mode: { type: 'string', enum: ['Auto', 'Manual'], default: 'Auto' },
    count: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
    maybe: { type: 'string', nullable: true, default: 'x' },
    deep: {
      type: 'object',
      default: {},
      properties: { a: { type: 'object', default: {}, properties: { b: { type: 'integer', default: 1 } } } },
    },
    tags: { type: 'object', additionalProperties: { type: 'string', pattern: '^[a-z]*$' } },
    ports: {
      type: 'array',
      items: {
        type: 'object',
        required: ['port'],
        properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
    },
    free: { 'x-kubernetes-preserve-unknown-fields': true },
    loose: { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-preserve-unknown-fields': true },
    size: { 'x-kubernetes-int-or-string': true },
  },
}
const root = (spec: JsonSchema): JsonSchema => ({ type: 'object', properties: { spec } })
const SCHEMAS = [
  ['a schema of every feature', SAMPLE] as const,
  ...ALL_KINDS.map((kind) => [kind.kind, kind.spec.schema] as const),
]

/** Where the plain fields of a value are that its schema declares. */
function knownPaths(value: Json, schema: JsonSchema | undefined, path = ''): string[] {
  if (!schema || !isPlainObject(value)) return [path]
  return Object.entries(value as Record<string, Json>).flatMap(([key, item]) =>
    schema.properties?.[key] ? knownPaths(item, schema.properties[key], `${path}/${key}`) : [],
  )
}

const read = (value: Json, path: string): unknown =>
  path
    .split('/')
    .slice(1)
    .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], value)

describe('for any object', () => {
  for (const [name, spec] of SCHEMAS) {
    const engine = compileSchema(root(spec))
    const admit = (value: Json) => engine.prune(engine.applyDefaults(value)).value

    it(`pruning and defaulting twice is the same as once (${name})`, () => {
      fc.assert(
        fc.property(damaged(spec), (value) => {
          const once = admit({ spec: value })
          assert.deepEqual(admit(once), once)
        }),
        RUNS,
      )
    })

    it(`no unknown field survives and no known one is lost (${name})`, () => {
      fc.assert(
        fc.property(fitting(spec), (value) => {
          const { value: pruned, unknown } = engine.prune({ spec: { ...(value as object), unknown: 1 } })
          const kept = (pruned as Record<string, Json>)['spec']!
          assert.ok(unknown.includes('spec.unknown') && !Object.hasOwn(kept as object, 'unknown'))
          for (const path of knownPaths(value, spec)) assert.deepEqual(read(kept, path), read(value, path))
        }),
        RUNS,
      )
    })
  }

  it('what is accepted stays accepted when it is pruned and its defaults are filled in', () => {
    const engine = compileSchema(root(SAMPLE))
    let accepted = 0
    fc.assert(
      fc.property(fc.oneof(fitting(SAMPLE), damaged(SAMPLE, 1)), (value) => {
        const before = engine.prune({ spec: value }).value
        if (engine.validate(before).length > 0) return
        accepted++
        assert.deepEqual(engine.validate(engine.applyDefaults(before)), [])
      }),
      { numRuns: 200 },
    )
    assert.ok(accepted > 50)
  })

  it('what fits is accepted, and an unchanged object is accepted whatever it holds', () => {
    const engine = compileSchema(root(SAMPLE))
    fc.assert(
      fc.property(fitting(SAMPLE), (value) => {
        assert.deepEqual(engine.validate(engine.prune(engine.applyDefaults({ spec: value })).value), [])
      }),
      RUNS,
    )
    const { free: _free, loose: _loose, ...closed } = SAMPLE.properties!
    const ratcheting = { ...SAMPLE, properties: closed }
    const strict = compileSchema(root(ratcheting))
    fc.assert(
      fc.property(fitting(ratcheting), fc.string(), (value, mode) => {
        const stored = strict.applyDefaults({ spec: { ...(value as object), mode } })
        assert.deepEqual(strict.validate(stored, stored), [])
      }),
      RUNS,
    )
  })
})
