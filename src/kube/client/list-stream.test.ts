import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createListStream } from './list-stream.ts'

function takeApart(text: string, cuts: readonly number[]): { items: unknown[]; rest: unknown } {
  const found: unknown[] = []
  const list = createListStream((item) => found.push(JSON.parse(item)))
  const bytes = Buffer.from(text)
  let from = 0
  for (const cut of cuts) {
    list.push(bytes.subarray(from, from + cut))
    from += cut
  }
  list.push(bytes.subarray(from))
  return { items: found, rest: JSON.parse(list.end()) }
}

const object = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })

describe('a list that is taken apart while it arrives', () => {
  it('gives the same items and the same rest, however the bytes are cut and whatever the items hold', () => {
    const spaces = fc.constantFrom(undefined, 1)
    const cuts = fc.array(fc.nat(20), { maxLength: 60 })
    fc.assert(
      fc.property(fc.array(object), object, spaces, cuts, fc.boolean(), (items, metadata, space, at, isLast) => {
        const list = isLast ? { kind: 'List', metadata, items } : { items, metadata, kind: 'List' }
        const { items: found, rest } = takeApart(JSON.stringify(list, null, space), at)
        assert.deepEqual(found, JSON.parse(JSON.stringify(items)))
        assert.deepEqual(rest, JSON.parse(JSON.stringify({ kind: 'List', metadata, items: [] })))
      }),
      { numRuns: 300 },
    )
  })

  it('is not fooled by items that contain lists of items, or by texts that look like them', () => {
    const items = [{ items: [{ a: 1 }] }, { text: '"items":[{"b":2}]', brackets: '}]}{["' }]
    const list = { metadata: { note: '"items":[{}]', items: [{ c: 3 }] }, items }
    assert.deepEqual(takeApart(JSON.stringify(list), []), { items, rest: { ...list, items: [] } })
  })

  it('says when it is not whole', () => {
    for (const text of ['{"items":[{"a":1}', '{"items":[', '{"items":[]', '{"a":"']) {
      assert.throws(() => takeApart(text, []), SyntaxError)
    }
  })
})
