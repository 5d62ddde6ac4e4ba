// Functions outside the embedded API that look something up by a key from an object or a file, held against the names
// that JavaScript objects inherit.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonSchema } from '#api'
import { compileSchema, SecretKind } from '#api'
import { matchesLabels } from '#kube'
import { matchesSelector } from '#lib'
import { memoryCluster } from '#testing'
import { mergeValues } from '../../../src/catalog/karpenter/values-merge.ts'
import { canRunOn } from '../../../src/catalog/placement/match.ts'
import { readPath } from '../../../src/controllers/addon-delivery/health/path.ts'
import { readSource } from '../../../src/engine/runner/inputs/credentials.ts'
import { callFunction } from '../../../src/engine/simulated/functions.ts'
import { mergePatchOf } from '../../../src/runtime/merge-patch.ts'
import { patched } from '../../../src/testing/memory/patches.ts'
import { matchesFields } from '../../../src/testing/memory/rules.ts'

const INHERITED = Object.getOwnPropertyNames(Object.prototype)

const single = (key: string, value: unknown) =>
  JSON.parse(`{"${key}":${JSON.stringify(value)}}`) as Record<string, never>

describe('a key that every object inherits', () => {
  for (const key of INHERITED) {
    it(`${key} is absent where nobody set it, and ordinary where somebody did`, async () => {
      const labels = single(key, 'x')
      for (const [text, without, withIt] of [
        [key, false, true],
        [`!${key}`, true, false],
        [`${key}=x`, false, true],
        [`${key}!=x`, true, false],
        [`${key} in (x)`, false, true],
        [`${key} notin (x)`, true, false],
      ] as const)
        assert.deepEqual([matchesLabels({}, text), matchesLabels(labels, text)], [without, withIt], text)

      const expression = (operator: 'Exists' | 'DoesNotExist') => ({ matchExpressions: [{ key, operator }] })
      assert.deepEqual(
        [matchesSelector(expression('Exists'), {}), matchesSelector(expression('Exists'), labels)],
        [false, true],
      )
      assert.equal(matchesSelector(expression('DoesNotExist'), {}), true)
      assert.equal(canRunOn({ nodeSelector: labels }, { name: 'n', labels: {} }), false)
      assert.equal(canRunOn({ nodeSelector: labels }, { name: 'n', labels }), true)

      assert.equal(readPath({ status: {} }, `status.${key}`), undefined)
      assert.equal(JSON.stringify(mergeValues({}, single(key, { a: 1 }))), `{"${key}":{"a":1}}`)
      assert.equal(
        JSON.stringify(mergeValues(single(key, { a: 1 }), single(key, { b: 2 }))),
        `{"${key}":{"a":1,"b":2}}`,
      )
      assert.equal(JSON.stringify(mergePatchOf({}, labels)), `{"${key}":"x"}`)
      assert.equal(JSON.stringify(mergePatchOf(labels, {})), `{"${key}":null}`)
      assert.throws(() => callFunction(key, []), /function/)

      const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } }
      assert.equal(matchesFields(object, `${key}=`), true)
      assert.equal(JSON.stringify(patched({}, { type: 'merge', body: labels })), `{"${key}":"x"}`)
      const operations = [{ op: 'add', path: `/${key}`, value: 'x' }] as const
      assert.equal(JSON.stringify(patched({}, { type: 'json', body: operations as never })), `{"${key}":"x"}`)

      const cluster = memoryCluster({ objects: [[SecretKind, object]] })
      const ref = { kind: 'Secret', namespace: 'default', name: 's', key } as const
      assert.equal(await readSource(cluster.objects, 'default', ref), undefined)
    })

    it(`${key} is pruned, defaulted and validated as any other field of a schema`, () => {
      const schema = (properties: Record<string, JsonSchema>): JsonSchema => ({
        type: 'object',
        properties: { spec: { type: 'object', properties } },
      })
      const object = (spec: object) => ({ apiVersion: 'a.b/v1', kind: 'A', metadata: { name: 'a' }, spec }) as never
      const without = compileSchema(schema({ a: { type: 'string' } }))
      assert.deepEqual(without.prune(object(single(key, 'x'))).unknown, [`spec.${key}`])
      const declared = compileSchema(
        schema(single(key, { type: 'string', default: 'd' }) as Record<string, JsonSchema>),
      )
      assert.deepEqual(declared.prune(object(single(key, 'x'))).unknown, [])
      assert.equal(declared.validate(object(single(key, 1))).length, 1)
      assert.equal(declared.validate(object({})).length, 0)
      assert.equal(JSON.stringify((declared.applyDefaults(object({})) as { spec?: object }).spec), `{"${key}":"d"}`)
    })
  }
})
