import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { jsonEqual, mergePatch } from '#lib'
import { objectSchema } from '../builtin/types.ts'
import { fieldsOf, fromFieldsV1, pathText, toFieldsV1 } from './field-set.ts'
import { patchValue } from './patch.ts'
import { strategicMerge } from './strategic.ts'
import { mergeTyped, withoutPaths } from './typed-merge.ts'

describe('a merge patch', () => {
  for (const [target, patch, result] of [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ] as const) {
    it(`of ${JSON.stringify(patch)} on ${JSON.stringify(target)} follows RFC 7386`, () =>
      assert.deepEqual(mergePatch(target, patch), result))
  }
  it('applied twice is the same as applied once', () => {
    const value = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(value, value, (target, patch) => {
        const once = mergePatch(target, patch)
        assert.ok(jsonEqual(mergePatch(once, patch), once))
      }),
      { numRuns: 200 },
    )
  })
})

describe('a JSON patch', () => {
  const apply = (value: unknown, ...operations: object[]) =>
    patchValue(structuredClone(value), operations, 'application/json-patch+json')
  it('adds, replaces, moves and removes, and may replace the whole', () => {
    assert.deepEqual(apply({ a: [1] }, { op: 'add', path: '/a/-', value: 2 }, { op: 'remove', path: '/a/0' }), {
      a: [2],
    })
    assert.deepEqual(apply({ a: 1 }, { op: 'move', from: '/a', path: '/b' }), { b: 1 })
    assert.deepEqual(apply({ a: 1 }, { op: 'replace', path: '', value: { z: 1 } }), { z: 1 })
    assert.deepEqual(apply({ 'a/b': 1 }, { op: 'replace', path: '/a~1b', value: 2 }), { 'a/b': 2 })
  })
  it('is refused as a whole when a test fails or a path is missing', () => {
    assert.throws(() => apply({ a: 1 }, { op: 'test', path: '/a', value: 2 }), /rejected our request/)
    assert.throws(() => apply({ a: 1 }, { op: 'remove', path: '/b' }), /rejected our request/)
    assert.throws(() => apply({ a: 1 }, { op: 'sing', path: '/b' }), /rejected our request|cannot be read/)
    assert.throws(() => apply({ a: 1 }, { path: '/b' }), /needs op and path/)
  })
})

describe('a strategic merge patch', () => {
  const pod = objectSchema('core.v1.Pod')
  const merge = (target: unknown, patch: Record<string, unknown>) => strategicMerge(target, patch, pod)
  const containers = (...names: readonly string[]) => ({
    spec: { containers: names.map((name) => ({ name, image: name })) },
  })

  it('merges containers by name and leaves the others alone', () => {
    assert.deepEqual(merge(containers('a', 'b'), { spec: { containers: [{ name: 'b', image: 'new' }] } }), {
      spec: {
        containers: [
          { name: 'a', image: 'a' },
          { name: 'b', image: 'new' },
        ],
      },
    })
  })
  it('puts a new item before those that merely stayed, as kube-apiserver does', () => {
    assert.deepEqual(merge(containers('a'), containers('b')), containers('b', 'a'))
  })
  it('removes an item, replaces a list and keeps an order when directed to', () => {
    assert.deepEqual(
      merge(containers('a', 'b'), { spec: { containers: [{ name: 'a', $patch: 'delete' }] } }),
      containers('b'),
    )
    const replace = { spec: { containers: [{ name: 'z', image: 'z' }, { $patch: 'replace' }] } }
    assert.deepEqual(merge(containers('a', 'b'), replace), containers('z'))
    const order = { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } }
    assert.deepEqual(merge(containers('a', 'b'), order), containers('b', 'a'))
  })
  it('adds to and takes from lists of plain values', () => {
    const held = { metadata: { finalizers: ['a/x', 'b/y'] } }
    assert.deepEqual(merge(held, { metadata: { finalizers: ['c/z'] } }), {
      metadata: { finalizers: ['c/z', 'a/x', 'b/y'] },
    })
    assert.deepEqual(merge(held, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/x'] } }), {
      metadata: { finalizers: ['b/y'] },
    })
  })
  it('drops the fields that retainKeys does not name', () => {
    const target = { spec: { volumes: [{ name: 'v', emptyDir: {} }] } }
    const patch = { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] } }
    assert.deepEqual(merge(target, patch), { spec: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] } })
  })
  it('is refused when an item lacks the key it is found by', () => {
    assert.throws(() => merge(containers('a'), { spec: { containers: [{ image: 'x' }] } }), /merge key: name/)
  })
})

describe('a set of fields', () => {
  const schema = objectSchema('apps.v1.Deployment')
  const deployment = {
    metadata: { labels: { app: 'web' }, finalizers: ['a/b'] },
    spec: { template: { spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }] } } },
  }
  it('names items of lists by their keys, with the default of a key that was left out', () => {
    const texts = [...fieldsOf(deployment, schema).keys()].map(pathText)
    assert.ok(texts.includes('.spec.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]'))
    assert.ok(texts.includes('.metadata.finalizers[="a/b"]'))
    assert.ok(texts.includes('.metadata.labels.app'))
  })
  it('comes back from its written form unchanged', () => {
    const step = fc.oneof(
      fc.stringMatching(/^[a-z]{1,3}$/).map((name) => `f:${name}`),
      fc.stringMatching(/^[a-z]{1,3}$/).map((name) => `k:${JSON.stringify({ name })}`),
    )
    const path = fc.array(step, { minLength: 1, maxLength: 4 }).map((steps) => steps.join('\u0000'))
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 8 }), (paths) => {
        assert.deepEqual([...fromFieldsV1(toFieldsV1(paths))].sort(), [...paths].sort())
      }),
      { numRuns: 200 },
    )
  })
  it('can be taken out of an object again', () => {
    const gone = withoutPaths(structuredClone(deployment), schema, fieldsOf(deployment, schema).keys())
    assert.deepEqual(gone, {
      metadata: { labels: {}, finalizers: [] },
      spec: { template: { spec: { containers: [] } } },
    })
  })
})

describe('an applied configuration', () => {
  const schema = objectSchema('apps.v1.Deployment')
  const withPorts = (...ports: object[]) => ({ spec: { template: { spec: { containers: [{ name: 'c', ports }] } } } })
  it('merges items by all their keys, and replaces what is atomic', () => {
    const merged = mergeTyped(
      { ...withPorts({ containerPort: 80, protocol: 'TCP', name: 'web' }) },
      withPorts({ containerPort: 80, protocol: 'UDP' }, { containerPort: 80, name: 'http' }),
      schema,
    )
    assert.deepEqual(
      merged,
      withPorts({ containerPort: 80, protocol: 'UDP' }, { containerPort: 80, protocol: 'TCP', name: 'http' }),
    )
    const selector = (matchLabels: object) => ({ spec: { selector: { matchLabels } } })
    assert.deepEqual(mergeTyped(selector({ a: '1' }), selector({ b: '2' }), schema), selector({ b: '2' }))
  })
})
