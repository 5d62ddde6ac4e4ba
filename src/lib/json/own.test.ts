import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { copyOf, jsonEqual } from './json.ts'
import { ownValue, ownValueAt, setOwnValue } from './own.ts'
import { applyJsonPatch, PatchError } from './patch.ts'

/** Every name that a plain object inherits. */
const INHERITED = Object.getOwnPropertyNames(Object.prototype)

describe('a key that every object inherits', () => {
  for (const key of INHERITED) {
    it(`${key} is absent until it is set, then an ordinary key`, () => {
      const record: Record<string, unknown> = {}
      assert.equal(ownValue(record, key), undefined)
      assert.equal(ownValueAt({ a: record }, ['a', key]), undefined)
      setOwnValue(record, key, 'x')
      assert.equal(ownValue(record, key), 'x')
      assert.deepEqual(Object.keys(record), [key])
      assert.equal(Object.getPrototypeOf(record), Object.prototype)
      assert.equal(JSON.stringify(copyOf(record)), JSON.stringify(record))
      assert.equal(jsonEqual(record, {}), false)
      assert.equal(jsonEqual({}, record), false)
    })

    it(`${key} is an ordinary key in a JSON patch`, () => {
      const added = applyJsonPatch({ labels: {} }, [{ op: 'add', path: `/labels/${key}`, value: 'x' }])
      assert.equal(JSON.stringify(added), `{"labels":{"${key}":"x"}}`)
      const moved = applyJsonPatch(added, [{ op: 'move', from: `/labels/${key}`, path: '/labels/a' }])
      assert.equal(JSON.stringify(moved), '{"labels":{"a":"x"}}')
      for (const op of ['remove', 'replace', 'copy', 'move'])
        assert.throws(
          () => applyJsonPatch({}, [{ op, path: `/${key}`, from: `/${key}`, value: 1 }]),
          PatchError,
          `${op} ${key}`,
        )
      assert.throws(() => applyJsonPatch({}, [{ op: 'add', path: `/${key}/x`, value: 1 }]), PatchError)
    })
  }
  assert.ok(INHERITED.includes('toString') && INHERITED.includes('__proto__') && INHERITED.includes('constructor'))
})
