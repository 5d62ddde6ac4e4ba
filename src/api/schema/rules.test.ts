import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '#lib'
import type { JsonSchema, Rule } from './build.ts'
import { compileSchema } from './compile.ts'

const object = (properties: Readonly<Record<string, JsonSchema>>, ...rules: Rule[]): JsonSchema => ({
  type: 'object',
  properties,
  ...(rules.length > 0 ? { 'x-kubernetes-validations': rules } : {}),
})
const messages = (spec: JsonSchema, value: Json, old?: Json): string[] =>
  compileSchema(object({ spec }))
    .validate({ metadata: { name: 'demo' }, spec: value }, old === undefined ? undefined : { spec: old })
    .map((fault) => fault.message)
const string: JsonSchema = { type: 'string' }
const integer: JsonSchema = { type: 'integer' }

/** Whether a rule about `self` (an object of these fields) holds. */
const holds = (fields: Readonly<Record<string, JsonSchema>>, rule: string, value: Json) =>
  messages(object(fields, { rule, message: rule }), value).length === 0

describe('CEL rules', () => {
  it('refuse with their message, at the place they name, for the reason they give', () => {
    const rule = { rule: 'self.a < self.b', message: 'a must be below b' }
    const refused = { a: 2, b: 1 }
    const fields = { a: integer, b: integer }
    assert.deepEqual(messages(object(fields, rule), refused), ['spec: Invalid value: "object": a must be below b'])
    assert.deepEqual(messages(object(fields, { ...rule, fieldPath: '.a' }), refused), [
      'spec.a: Invalid value: "object": a must be below b',
    ])
    assert.deepEqual(messages(object(fields, { ...rule, reason: 'FieldValueForbidden' }), refused), [
      'spec: Forbidden: a must be below b',
    ])
    assert.deepEqual(messages(object(fields, { ...rule, reason: 'FieldValueRequired' }), refused), [
      'spec: Required value: a must be below b',
    ])
    assert.deepEqual(messages(object(fields, { ...rule, reason: 'FieldValueDuplicate' }), refused), [
      'spec: Duplicate value: "object"',
    ])
    assert.deepEqual(messages(object(fields, { rule: rule.rule }), refused), [
      'spec: Invalid value: "object": failed rule: self.a < self.b',
    ])
  })

  it('may make their message from the values, and fall back to the plain one', () => {
    const withExpression = (messageExpression: string) =>
      messages(object({ a: string }, { rule: 'false', message: 'plain', messageExpression }), { a: 'x' })
    assert.deepEqual(withExpression("'a is ' + self.a"), ['spec: Invalid value: "object": a is x'])
    assert.deepEqual(withExpression("'' + self.a.replace('x', '')"), ['spec: Invalid value: "object": plain'])
  })

  it('are not run on an object whose types are wrong', () => {
    const found = messages(object({ a: integer }, { rule: 'self.a > 1' }), { a: 'x' })
    assert.match(found[1]!, /^<nil>: .*some validation rules were not checked/)
  })

  it('say what failed when they cannot be evaluated', () => {
    const fields = {
      a: integer,
      list: { type: 'array', items: string } as JsonSchema,
      map: { type: 'object', additionalProperties: string } as JsonSchema,
    }
    const failure = (rule: string, value: Json) => messages(object(fields, { rule, message: 'm' }), value)[0]
    assert.equal(
      failure('self.list[3] == "x"', { list: [] }),
      'spec: Invalid value: "object": index out of bounds: 3 evaluating rule: m',
    )
    assert.equal(
      failure('self.map["k"] == "x"', { map: {} }),
      'spec: Invalid value: "object": no such key: k evaluating rule: m',
    )
    assert.equal(
      failure('duration(self.list[0]) > duration("1m")', { list: ['soon'] }),
      `spec: Invalid value: "object": type conversion error from 'string' to 'google.protobuf.Duration' evaluating rule: m`,
    )
    assert.equal(
      failure('1 / self.a > 0', { a: 0 }),
      'spec: Invalid value: "object": division by zero evaluating rule: m',
    )
  })

  it('about a change run only when something changes', () => {
    const fixed: JsonSchema = { ...string, 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'fixed' }] }
    assert.deepEqual(messages(object({ a: fixed }), { a: 'x' }), [])
    assert.deepEqual(messages(object({ a: fixed }), { a: 'x' }, { a: 'x' }), [])
    assert.deepEqual(messages(object({ a: fixed }), { a: 'x' }, { a: 'y' }), ['spec.a: Invalid value: "string": fixed'])
    assert.deepEqual(messages(object({ a: fixed }), { a: 'x' }, {}), [])
  })

  it('may ask whether there was an old value', () => {
    const once: JsonSchema = {
      ...string,
      'x-kubernetes-validations': [
        { rule: 'oldSelf.hasValue() || self == "first"', message: 'begin with first', optionalOldSelf: true },
      ],
    }
    assert.deepEqual(messages(object({ a: once }), { a: 'x' }), ['spec.a: Invalid value: "string": begin with first'])
    assert.deepEqual(messages(object({ a: once }), { a: 'x' }, { a: 'first' }), [])
  })

  it('do not see the order of a set or of a list with keys', () => {
    const fields: Record<string, JsonSchema> = {
      set: { type: 'array', items: string, 'x-kubernetes-list-type': 'set' },
      list: {
        type: 'array',
        items: { ...object({ k: string, v: integer }), required: ['k'] },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      },
    }
    const spec = object(fields, { rule: 'self == oldSelf', message: 'changed' })
    const one: Json = { set: ['a', 'b'], list: [{ k: 'x', v: 1 }, { k: 'y' }] }
    const other: Json = { set: ['b', 'a'], list: [{ k: 'y' }, { k: 'x', v: 1 }] }
    assert.deepEqual(messages(spec, one, other), [])
    assert.deepEqual(messages(spec, one, { ...(other as object), set: ['b'] }), [
      'spec: Invalid value: "object": changed',
    ])
  })

  it('tolerate what was wrong before and is not touched', () => {
    const spec = object({ a: integer, b: string }, { rule: 'self.a < 5', message: 'small' })
    assert.deepEqual(messages(spec, { a: 7 }, { a: 7 }), [])
    assert.deepEqual(messages(spec, { a: 7, b: 'x' }, { a: 7 }), ['spec: Invalid value: "object": small'])
  })

  it('see the name of the whole object, and nothing else of its metadata', () => {
    const whole = (rule: string) =>
      compileSchema({
        ...object({ spec: object({ a: string }) }),
        'x-kubernetes-validations': [{ rule, message: rule }],
      })
        .validate({ metadata: { name: 'demo', labels: {} }, spec: {} })
        .map((fault) => fault.message)
    assert.deepEqual(whole("self.metadata.name == 'demo'"), [])
    assert.equal(whole("self.metadata.name == 'x'").length, 1)
    assert.throws(() => whole('has(self.metadata.labels)'), { code: 'CAPT_SCHEMA_INVALID' })
  })

  it('name awkward fields by their escaped names', () => {
    const fields = { 'dashed-name': string, namespace: string, 'a.b/c': string, under__score: string }
    const value = { 'dashed-name': 'a', namespace: 'b', 'a.b/c': 'c', under__score: 'd' }
    assert.ok(
      holds(
        fields,
        "self.dashed__dash__name + self.__namespace__ + self.a__dot__b__slash__c + self.under__underscores__score == 'abcd'",
        value,
      ),
    )
  })

  it('read a field that is called like a function', () => {
    const fields = { matches: { type: 'array', items: object({ path: string }) } as JsonSchema }
    assert.ok(holds(fields, 'has(self.matches[0].path) && self.matches.size() == 1', { matches: [{ path: '/' }] }))
  })

  const fields: Readonly<Record<string, JsonSchema>> = {
    text: string,
    count: integer,
    ratio: { type: 'number' },
    when: { type: 'string', format: 'date-time' },
    every: { type: 'string', format: 'duration' },
    data: { type: 'string', format: 'byte' },
    list: { type: 'array', items: string },
    numbers: { type: 'array', items: integer },
    map: { type: 'object', additionalProperties: string },
    maybe: { type: 'string', nullable: true },
  }
  const value: Json = {
    text: 'Äbc-12',
    count: 3,
    ratio: 2,
    when: '2026-01-02T03:04:05Z',
    every: '90m',
    data: 'aGVsbG8=',
    list: ['a', 'b', 'b'],
    numbers: [3, 1, 2],
    map: { a: '1', b: '2', constructor: 'x' },
    maybe: null,
  }
  for (const rule of [
    'self.count == 3 && self.count % 2 == 1 && self.ratio == 2.0 && self.ratio > 1',
    "self.when > timestamp('2026-01-01T00:00:00Z') && self.when.getFullYear() == 2026",
    "self.every == duration('1h30m') && self.every.getMinutes() == 90",
    "self.data == b'hello' && self.data.size() == 5",
    "self.text.matches('^\\\\pL+-[0-9]{2}$') && !self.text.matches('^x')",
    "self.text.find('[0-9]+') == '12' && self.text.findAll('[0-9]') == ['1', '2'] && self.text.findAll('[0-9]', 1).size() == 1",
    "self.text.lowerAscii() == 'Äbc-12' && 'äb'.upperAscii() == 'äB'",
    "'a,b,c'.split(',').join('-') == 'a-b-c' && ' x '.trim() == 'x' && 'hello'.substring(1, 3) == 'el' && 'hello'.charAt(1) == 'e'",
    "'aXbX'.replace('X', '') == 'ab' && 'aXbX'.replace('X', '-', 1) == 'a-bX' && 'abc'.reverse() == 'cba'",
    "'%s has %d of %.2f'.format(['x', self.count, 1.5]) == 'x has 3 of 1.50'",
    "self.list.indexOf('b') == 1 && self.list.lastIndexOf('b') == 2 && self.list.isSorted() && !self.numbers.isSorted()",
    'self.numbers.sum() == 6 && self.numbers.min() == 1 && self.numbers.max() == 3',
    "sets.contains(self.list, ['b']) && sets.equivalent(self.list, ['b', 'a']) && !sets.intersects(self.list, ['z'])",
    "self.map.all(k, self.map[k] != '') && 'constructor' in self.map && !('toString' in self.map) && size(self.map) == 3",
    "self.map.exists(k, v, k == 'a' && v == '1') && self.list.all(i, x, i < 3 && x != '')",
    "self.list.transformList(i, x, i > 0, x + string(i)) == ['b1', 'b2'] && self.map.transformMap(k, v, k)['a'] == 'a'",
    "!has(self.maybe) && self.?maybe.orValue('none') == 'none' && self.?text.optMap(t, t.size()).orValue(0) == 6",
    "quantity('1.5Gi').isGreaterThan(quantity('1G')) && quantity('500m').add(quantity('1')).compareTo(quantity('1.5')) == 0",
    "isQuantity('200k') && !isQuantity('200K') && quantity('50k').asInteger() == 50000 && quantity('-1').sign() == -1",
    "ip('127.0.0.1').isLoopback() && ip('fe80::1').isLinkLocalUnicast() && ip('::1').family() == 6 && !isIP('1.2.3.256')",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16')) && !isCIDR('10.0.0.0/33')",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && string(cidr('fe80::1/10').ip()) == 'fe80::1'",
    "isURL('https://a.b:80/c?d=e') && url('https://a.b:80/c?d=e').getHost() == 'a.b:80' && url('https://a.b:80/c?d=e').getQuery()['d'] == ['e']",
    "!isURL('relative') && url('https://[::1]:80/x y').getHostname() == '::1' && url('/x y').getEscapedPath() == '/x%20y'",
    'cel.bind(n, self.count * 2, n == 6) && type(self.count) == int && dyn(self.count) == 3.0',
  ]) {
    it(`know: ${rule}`, () => assert.ok(holds(fields, rule, value)))
  }
})

describe('the cost of rules', () => {
  const schemaOf = (rule: string): JsonSchema => ({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          list: { type: 'array', items: { type: 'integer' } },
          text: { type: 'string' },
          many: {
            type: 'array',
            items: {
              type: 'object',
              properties: { list: { type: 'array', items: { type: 'integer' } } },
              'x-kubernetes-validations': [{ rule: 'self.list.all(x, self.list.all(y, x + y >= 0))' }],
            },
          },
        },
        'x-kubernetes-validations': [{ rule, message: 'the rule' }],
      },
    },
  })
  const validate = (rule: string, spec: object) =>
    compileSchema(schemaOf(rule)).validate({ apiVersion: 'a.b/v1', kind: 'A', metadata: { name: 'a' }, spec } as never)
  const list = (length: number) => Array.from({ length }, (_, i) => i)

  for (const [name, rule, spec] of [
    ['nested loops', 'self.list.all(x, self.list.all(y, self.list.all(z, x + y + z >= 0)))', { list: list(2000) }],
    [
      'loops whose errors are dropped',
      'self.list.exists(x, self.list.exists(y, self.list.exists(z, x + y + z < 0) || true == false) || false)',
      { list: list(2000) },
    ],
    [
      'two-variable loops',
      'self.list.all(i, x, self.list.all(j, y, self.list.all(k, z, x + y + z >= 0)))',
      { list: list(2000) },
    ],
    ['sets', 'self.list.all(x, sets.contains(self.list, self.list))', { list: list(3000) }],
    ['long texts', 'self.text.split("").all(c, !self.text.contains("nothing like it"))', { text: 'x'.repeat(20_000) }],
  ] as const) {
    it(`ends ${name} with the words of kube-apiserver`, () => {
      const began = performance.now()
      const [fault] = validate(rule, spec)
      assert.match(fault?.message ?? '', /cost exceeds limit for rule: the rule|longer than 5 s/)
      assert.ok(performance.now() - began < 20_000)
    })
  }

  it('is shared by the rules of one object, and new for the next', () => {
    const spec = { many: Array.from({ length: 100 }, () => ({ list: list(200) })) }
    assert.match(
      validate('true', spec).at(-1)?.message ?? '',
      /running out of cost budget, no further validation rules/,
    )
    assert.deepEqual(validate('self.list.all(x, self.list.all(y, x + y >= 0))', { list: list(200) }), [])
  })
})
