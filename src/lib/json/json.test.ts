import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalJson, copyOf, jsonEqual } from './json.ts'

/** The same value with the keys of every object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).reverse()
  return Object.fromEntries(entries.map(([key, inner]) => [key, shuffled(inner)]))
}

describe('canonical JSON', () => {
  it('is the same text for the same value, whatever the order of its keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => assert.equal(canonicalJson(value), canonicalJson(shuffled(value)))),
    )
  })

  it('reads back as plain JSON does', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) =>
        assert.ok(jsonEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)))),
      ),
    )
  })

  it('drops what is undefined, reads dates as JSON does, and keeps a key of any name', () => {
    const text = '{"__proto__":{"z":1,"a":2},"b":[{"d":1,"c":2}]}'
    assert.equal(canonicalJson(JSON.parse(text)), '{"__proto__":{"a":2,"z":1},"b":[{"c":2,"d":1}]}')
    assert.equal(canonicalJson({ b: undefined, a: new Date(0) }), '{"a":"1970-01-01T00:00:00.000Z"}')
  })
})

describe('equality of JSON', () => {
  it('takes a key without a value for one that is absent, and sees every other difference', () => {
    assert.ok(jsonEqual({ a: 1, b: undefined }, { a: 1 }))
    assert.ok(jsonEqual({ a: 1 }, { b: undefined, a: 1 }))
    assert.ok(!jsonEqual({ a: 1 }, { a: 1, b: null }))
    assert.ok(!jsonEqual({ a: 1, b: null }, { a: 1 }))
    assert.ok(!jsonEqual({ a: [1, 2] }, { a: [2, 1] }))
    assert.ok(!jsonEqual({ a: [] }, { a: {} }))
  })
})

describe('a copy of JSON', () => {
  it('says the same and shares nothing that can be changed', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const frozen = deepFreeze(value)
        const copy = copyOf(frozen)
        assert.equal(JSON.stringify(copy), JSON.stringify(value))
        assert.ok(!isFrozenObject(copy))
      }),
    )
    const odd = JSON.parse('{"__proto__":{"a":1}}')
    assert.equal(JSON.stringify(copyOf(odd)), '{"__proto__":{"a":1}}')
  })
})

function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === 'object') for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}

function isFrozenObject(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false
  const isEmpty = Object.keys(value).length === 0
  return (!isEmpty && Object.isFrozen(value)) || Object.values(value).some(isFrozenObject)
}
