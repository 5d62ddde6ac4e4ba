import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '#lib'
import type { JsonSchema } from './build.ts'
import { compileSchema } from './compile.ts'

const object = (properties: Readonly<Record<string, JsonSchema>>, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
})
const withSpec = (spec: JsonSchema) => compileSchema(object({ spec }))
const messages = (spec: JsonSchema, value: Json, old?: Json): string[] =>
  withSpec(spec)
    .validate({ spec: value }, old === undefined ? undefined : { spec: old })
    .map((fault) => fault.message)

describe('the schema engine', () => {
  const cases: readonly (readonly [string, JsonSchema, Json, string])[] = [
    ['a missing field', { type: 'string' }, {}, 'spec.v: Required value'],
    [
      'a wrong type',
      { type: 'integer' },
      { v: 'x' },
      'spec.v: Invalid value: "string": spec.v in body must be of type integer: "string"',
    ],
    [
      'a null',
      { type: 'string' },
      { v: null },
      'spec.v: Invalid value: "null": spec.v in body must be of type string: "null"',
    ],
    [
      'an unknown word',
      { type: 'string', enum: ['Auto', 'Manual'] },
      { v: 'x' },
      'spec.v: Unsupported value: "x": supported values: "Auto", "Manual"',
    ],
    [
      'a number that is too small',
      { type: 'integer', minimum: 1 },
      { v: 0 },
      'spec.v: Invalid value: 0: spec.v in body should be greater than or equal to 1',
    ],
    [
      'a number that is too large',
      { type: 'number', maximum: 1, exclusiveMaximum: true },
      { v: 1 },
      'spec.v: Invalid value: 1: spec.v in body should be less than 1',
    ],
    [
      'a number out of step',
      { type: 'integer', multipleOf: 3 },
      { v: 4 },
      'spec.v: Invalid value: 4: spec.v in body should be a multiple of 3',
    ],
    [
      'a text that is too short',
      { type: 'string', minLength: 2 },
      { v: '😀' },
      'spec.v: Invalid value: "😀": spec.v in body should be at least 2 chars long',
    ],
    [
      'a text that is too long',
      { type: 'string', maxLength: 2 },
      { v: 'abc' },
      'spec.v: Too long: may not be more than 2 bytes',
    ],
    [
      'a text of the wrong form',
      { type: 'string', pattern: '^a+$' },
      { v: 'b"' },
      'spec.v: Invalid value: "b\\"": spec.v in body should match \'^a+$\'',
    ],
    [
      'a text that is no time',
      { type: 'string', format: 'date-time' },
      { v: 'now' },
      'spec.v: Invalid value: "now": spec.v in body must be of type date-time: "now"',
    ],
    [
      'too many items',
      { type: 'array', items: { type: 'string' }, maxItems: 1 },
      { v: ['a', 'b'] },
      'spec.v: Too many: 2: must have at most 1 items',
    ],
    [
      'too few items',
      { type: 'array', items: { type: 'string' }, minItems: 1 },
      { v: [] },
      'spec.v: Invalid value: 0: spec.v in body should have at least 1 items',
    ],
    [
      'a wrong item',
      { type: 'array', items: { type: 'boolean' } },
      { v: [true, 1] },
      'spec.v[1]: Invalid value: "integer": spec.v[1] in body must be of type boolean: "integer"',
    ],
    [
      'a value twice in a set',
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      { v: ['a', 'a'] },
      'spec.v[1]: Duplicate value: "a"',
    ],
    [
      'a wrong map value',
      { type: 'object', additionalProperties: { type: 'string' } },
      { v: { a: 1.5 } },
      'spec.v.a: Invalid value: "number": spec.v.a in body must be of type string: "number"',
    ],
    [
      'too few entries',
      { type: 'object', additionalProperties: { type: 'string' }, minProperties: 1 },
      { v: {} },
      'spec.v: Invalid value: 0: spec.v in body should have at least 1 properties',
    ],
    [
      'no alternative that fits',
      { type: 'integer', anyOf: [{ maximum: 1 }, { minimum: 5 }] },
      { v: 3 },
      '<nil>: Invalid value: "": "spec.v" must validate at least one schema (anyOf)',
    ],
    [
      'an object without a kind',
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      { v: { apiVersion: 'v1' } },
      'spec.v.kind: Required value: must not be empty',
    ],
  ]
  for (const [what, schema, value, message] of cases) {
    it(`words ${what} as kube-apiserver words it`, () => {
      assert.equal(messages(object({ v: schema }, { required: ['v'] }), value)[0], message)
    })
  }

  it('knows where an alternative failed although the server does not say', () => {
    const [fault] = withSpec(object({ v: { type: 'integer', anyOf: [{ maximum: 1 }] } })).validate({ spec: { v: 3 } })
    assert.equal(fault?.at, 'spec.v')
  })

  it('reads patterns as RE2 does, in linear time', () => {
    const slow = object({ v: { type: 'string', pattern: '^(a+)+$' } })
    const started = performance.now()
    assert.equal(messages(slow, { v: `${'a'.repeat(5000)}!` }).length, 1)
    assert.ok(performance.now() - started < 2000)
  })

  it('takes any value where the schema takes an integer or a text', () => {
    const port = object({ v: { 'x-kubernetes-int-or-string': true } })
    assert.deepEqual([messages(port, { v: 80 }), messages(port, { v: 'http' })], [[], []])
    assert.match(messages(port, { v: 1.5 })[0]!, /must be of type integer,string: "number"/)
  })

  it('drops unknown fields and names them, but keeps them where the schema says so', () => {
    const engine = withSpec(
      object({
        strict: object({ a: { type: 'string' } }),
        loose: object({ b: object({ c: { type: 'string' } }) }, { 'x-kubernetes-preserve-unknown-fields': true }),
        whole: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      }),
    )
    const { value, unknown } = engine.prune({
      apiVersion: 'v1',
      metadata: { name: 'a', lables: {}, ownerReferences: [{ uid: 'u', nmae: 'x' }] },
      spec: {
        strict: { a: 'x', z: 1 },
        loose: { y: 1, b: { c: 'x', z: 1 } },
        whole: { kind: 'K', metadata: { nmae: 1 }, x: { y: 1 } },
      },
      stray: 1,
    })
    assert.deepEqual(unknown, [
      'metadata.lables',
      'metadata.ownerReferences[0].nmae',
      'spec.loose.b.z',
      'spec.strict.z',
      'spec.whole.metadata.nmae',
      'stray',
    ])
    assert.deepEqual(value, {
      apiVersion: 'v1',
      metadata: { name: 'a', ownerReferences: [{ uid: 'u' }] },
      spec: { strict: { a: 'x' }, loose: { y: 1, b: { c: 'x' } }, whole: { kind: 'K', metadata: {}, x: { y: 1 } } },
    })
  })

  it('fills in defaults at every depth, and treats a forbidden null as absent', () => {
    const engine = withSpec(
      object({
        mode: { type: 'string', default: 'Auto' },
        deep: object({ a: object({ b: { type: 'integer', default: 1 } }, { default: {} }) }, { default: {} }),
        list: { type: 'array', items: object({ p: { type: 'string', default: 'TCP' } }) },
        map: { type: 'object', additionalProperties: object({ q: { type: 'string', default: 'x' } }) },
        kept: { type: 'string', nullable: true, default: 'x' },
        gone: { type: 'string' },
      }),
    )
    const sent = { spec: { mode: null, list: [{}], map: { m: {} }, kept: null, gone: null } }
    assert.deepEqual(engine.applyDefaults(sent), {
      spec: { mode: 'Auto', list: [{ p: 'TCP' }], map: { m: { q: 'x' } }, kept: null, deep: { a: { b: 1 } } },
    })
    assert.deepEqual(sent.spec.list, [{}], 'the value that came in stays as it was')
  })

  it('tolerates an old fault that an update does not touch, and no other', () => {
    const spec = object({
      a: { type: 'string', maxLength: 1 },
      b: { type: 'string', maxLength: 1 },
      list: {
        type: 'array',
        items: object({ k: { type: 'string' }, n: { type: 'integer', minimum: 1 } }, { required: ['k'] }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      },
    })
    assert.deepEqual(messages(spec, { a: 'long', b: 'x' }, { a: 'long' }), [])
    assert.deepEqual(messages(spec, { a: 'longer' }, { a: 'long' }), ['spec.a: Too long: may not be more than 1 bytes'])
    const old = { list: [{ k: 'x', n: 0 }] }
    assert.deepEqual(
      messages(
        spec,
        {
          list: [
            { k: 'y', n: 1 },
            { k: 'x', n: 0 },
          ],
        },
        old,
      ),
      [],
    )
    assert.equal(messages(spec, { list: [{ k: 'x', n: -1 }] }, old).length, 1)
  })

  it('refuses a schema that no server would serve, and says where it is wrong', () => {
    const refused = (spec: JsonSchema, message: RegExp) =>
      assert.throws(() => withSpec(spec), { code: 'CAPT_SCHEMA_INVALID', message })
    refused(
      object({ a: {} }),
      /properties\[spec\]\.properties\[a\]\.type: must not be empty for specified object fields/,
    )
    refused(object({ a: { type: 'string', pattern: '(?=x)' } }), /pattern: must be a valid regular expression/)
    refused(object({ a: { type: 'integer', default: 'x' } }), /default: Invalid value/)
    refused(
      object({ a: { type: 'string', anyOf: [{ type: 'string' }] } }),
      /anyOf\[0\]\.type: must be empty to be structural/,
    )
    refused(
      object({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self ==' }] } }),
      /x-kubernetes-validations\[0\]\.rule: compilation failed/,
    )
    refused(
      object({ a: { type: 'string' } }, { 'x-kubernetes-validations': [{ rule: 'has(self.b)' }] }),
      /undefined field 'b'/,
    )
  })
})
