import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isPlainObject } from '#lib'
import { mergePatchOf } from './merge-patch.ts'

/** RFC 7386, as the API server does it. */
function patched(base: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const result: Record<string, unknown> = isPlainObject(base) ? { ...base } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = patched(result[name], value)
  }
  return result
}

const name = fc.constantFrom('a', 'b', 'c')
const { tree } = fc.letrec<{ tree: Record<string, unknown>; value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer()), tie('tree')),
  tree: fc.dictionary(name, tie('value'), { noNullPrototype: true }),
}))

describe('the smallest merge patch', () => {
  it('turns any value into any other', () => {
    fc.assert(
      fc.property(tree, tree, (from, to) => {
        const patch = mergePatchOf(from, to)
        assert.deepEqual(patch ? patched(from, patch) : from, to)
      }),
      { numRuns: 500 },
    )
  })

  it('does not exist between equal values', () => {
    fc.assert(fc.property(tree, (value) => assert.equal(mergePatchOf(value, structuredClone(value)), undefined)))
  })

  it('names only what changed', () => {
    const from = { kept: { x: 1 }, run: { phase: 'running', step: '3 of 9' }, gone: 1 }
    const to = { kept: { x: 1 }, run: { phase: 'done' } }
    assert.deepEqual(mergePatchOf(from, to), { run: { phase: 'done', step: null }, gone: null })
  })
})
