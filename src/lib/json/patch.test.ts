import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { applyJsonPatch, PatchError } from './patch.ts'

describe('a JSON patch', () => {
  for (const [name, before, operations, after] of [
    ['adds a key', {}, [{ op: 'add', path: '/a', value: 1 }], { a: 1 }],
    ['adds into a list', { l: [1, 3] }, [{ op: 'add', path: '/l/1', value: 2 }], { l: [1, 2, 3] }],
    ['appends to a list', { l: [] }, [{ op: 'add', path: '/l/-', value: 1 }], { l: [1] }],
    ['counts negative indexes from the end', { l: [1, 2] }, [{ op: 'remove', path: '/l/-1' }], { l: [1] }],
    ['replaces the root', { a: 1 }, [{ op: 'replace', path: '', value: [] }], []],
    ['removes', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['moves', { a: 1 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    ['moves to the same place', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    ['copies', { a: { x: 1 } }, [{ op: 'copy', from: '/a', path: '/b' }], { a: { x: 1 }, b: { x: 1 } }],
    ['reads escapes', { 'a/b~c': 1 }, [{ op: 'test', path: '/a~1b~0c', value: 1 }], { 'a/b~c': 1 }],
    ['takes an absent value for null', {}, [{ op: 'test', path: '/a', value: null }], {}],
  ] as const) {
    it(name, () => assert.deepEqual(applyJsonPatch(structuredClone(before), operations), after))
  }

  for (const [name, before, operation] of [
    ['that tests another value', { a: 1 }, { op: 'test', path: '/a', value: 2 }],
    ['that adds below nothing', {}, { op: 'add', path: '/a/b', value: 1 }],
    ['that replaces nothing', {}, { op: 'replace', path: '/a', value: 1 }],
    ['that removes nothing', {}, { op: 'remove', path: '/a' }],
    ['beyond the end of a list', { l: [1] }, { op: 'add', path: '/l/2', value: 1 }],
    ['with a word for an index', { l: [1] }, { op: 'add', path: '/l/length', value: 1 }],
    ['into itself', { a: {} }, { op: 'move', from: '/a', path: '/a/b' }],
    ['without a slash', { a: 1 }, { op: 'test', path: 'a', value: 1 }],
    ['of an unknown kind', {}, { op: 'merge', path: '/a' }],
  ] as const) {
    it(`is refused ${name}`, () =>
      assert.throws(() => applyJsonPatch(structuredClone(before), [operation]), PatchError))
  }

  it('may copy only so many bytes in all', () => {
    const doubling = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/k${i}` }))
    assert.throws(
      () => applyJsonPatch({ seed: 'x'.repeat(100) }, doubling, { copyBytes: 1_000_000 }),
      (error: PatchError) => /exceeding the limit 1000000$/.test(error.message) && error.index < 20,
    )
  })
})
