import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hasLongDigits, narrowIntegers, parseJson, toInteger } from './integers.ts'
import { canonicalJson, copyOf, jsonEqual } from './json.ts'
import { createPacker, unpack } from './packing.ts'

const EXACT = [
  '9223372036854775807',
  '-9223372036854775808',
  '9007199254740993',
  '-9007199254740993',
  '9007199254740992',
  '9007199254740991',
  '1000000000000000',
  '0',
]

describe('an integer of 64 bits', () => {
  for (const digits of EXACT) {
    it(`${digits} keeps its digits wherever it stands in a document`, () => {
      for (const text of [
        `{"a":${digits}}`,
        `[${digits},{"b":[1,${digits}]}]`,
        digits,
        `{"s":"x:${digits}","__proto__":${digits}}`,
      ])
        for (let pad = 0; pad < 17; pad++) {
          const padded = `${' '.repeat(pad)}${text}`
          const value = parseJson(padded)
          assert.equal(JSON.stringify(value), text)
          assert.equal(JSON.stringify(copyOf(value)), text)
          assert.equal(JSON.stringify(structuredClone(value)), text)
          assert.equal(jsonEqual(value, parseJson(text)), true)
          assert.equal(JSON.stringify(unpack(createPacker().pack(value))), text)
        }
      assert.equal(canonicalJson(parseJson(`{"b":${digits},"a":1}`)), `{"a":1,"b":${digits}}`)
    })
  }
  it('differs from its neighbour', () => {
    assert.equal(jsonEqual(parseJson('[9007199254740993]'), parseJson('[9007199254740992]')), false)
  })
  it('beyond 64 bits and a fraction are numbers, as Go reads them', () => {
    assert.equal(parseJson('9223372036854775808'), 2 ** 63)
    assert.equal(parseJson('1.2345678901234567890'), 1.2345678901234567)
    assert.equal(parseJson('1234567890123456.5'), 1234567890123456.5)
  })
  it('of a YAML reader is a number wherever that is exact', () => {
    assert.deepEqual(narrowIntegers({ a: [1n, { b: 9007199254740993n }], c: 'x' }), {
      a: [1, { b: 9007199254740993n }],
      c: 'x',
    })
    assert.equal(toInteger(2n ** 64n), 2 ** 64)
  })
})

describe('the search for long integers', () => {
  it('finds a run of sixteen digits at every place, and no shorter one', () => {
    for (let before = 0; before < 40; before++) {
      assert.equal(hasLongDigits(`${'x'.repeat(before)}${'7'.repeat(16)}y`), true, `${before}`)
      assert.equal(hasLongDigits(`${'x'.repeat(before)}${'7'.repeat(15)}y${'7'.repeat(15)}`), false, `${before}`)
    }
  })
})
