// Keys that users choose, held against every name that JavaScript objects inherit: selectors, every kind of patch, server-side
// apply, schemas and maps, over HTTP and through the store.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APPLY, items, JSON_PATCH, type Loose, MERGE, type RawApi, rawApi, STRATEGIC } from '#testing'
import { compileFieldSelector } from './field-selector.ts'
import { parseLabelSelector } from './label-selector.ts'
import type { ApiObject } from './object.ts'
import { type Started, specCrd, startInTempFolder } from './started.ts'

const INHERITED = Object.getOwnPropertyNames(Object.prototype)
/** A label must begin and end with a letter or digit. */
const LABELS = INHERITED.filter((key) => !key.startsWith('_'))
const CONFIGS = '/api/v1/namespaces/default/configmaps'
const THINGS = '/apis/example.com/v1/namespaces/default/things'

const thingCrd = specCrd('Thing', {
  properties: {
    map: { type: 'object', additionalProperties: { type: 'string' } },
    known: { type: 'object', properties: { a: { type: 'string' } } },
    any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
})

/** Built from text, because `{ __proto__: 1 }` in the language means something else. */
const single = (key: string, value: unknown) => JSON.parse(`{"${key}":${JSON.stringify(value)}}`) as Loose

describe('selectors and inherited names', () => {
  for (const key of LABELS) {
    it(`${key} selects only objects that have it`, () => {
      const matches = (text: string, labels: Record<string, string>) => parseLabelSelector(text)!(labels)
      const tests: [string, boolean, boolean][] = [
        [key, false, true],
        [`!${key}`, true, false],
        [`${key}=x`, false, true],
        [`${key}!=x`, true, false],
        [`${key} in (x)`, false, true],
        [`${key} notin (x)`, true, false],
      ]
      for (const [text, without, withIt] of tests) {
        assert.equal(matches(text, {}), without, `${text} without the label`)
        assert.equal(
          matches(text, single(key, 'x') as unknown as Record<string, string>),
          withIt,
          `${text} with the label`,
        )
      }
    })
  }
  for (const key of INHERITED) {
    it(`${key} cannot be selected by as a field`, () => {
      assert.throws(() => compileFieldSelector(`${key}=x`, []), /not a known field selector/)
      const object: ApiObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }
      assert.equal(compileFieldSelector(`spec.${key}=`, [`spec.${key}`]).test?.(object), true)
    })
  }
})

describe('objects with inherited names for keys', () => {
  let started: Started
  let api: RawApi
  before(async () => {
    started = await startInTempFolder({ crds: [thingCrd] })
    api = rawApi(started.server)
  })
  after(async () => {
    api.close()
    await started.end()
  })

  it('a collection is deleted by such a label only where it is set', async () => {
    for (const name of ['one', 'two']) await api.call('POST', CONFIGS, { metadata: { name } })
    for (const key of LABELS) {
      const removed = await api.call('DELETE', `${CONFIGS}?labelSelector=${key}`)
      assert.deepEqual([removed.code, items(removed.body).length], [200, 0], key)
    }
    assert.equal(items((await api.call('GET', CONFIGS)).body).length, 2)
    await api.call('DELETE', CONFIGS)
  })

  for (const key of INHERITED) {
    it(`${key} survives create, update, every patch and a read, and goes when it is removed`, async () => {
      const name = `k-${INHERITED.indexOf(key)}`
      const at = `${THINGS}/${name}`
      const body = (map: object, more: object = {}) => ({
        apiVersion: 'example.com/v1',
        kind: 'Thing',
        metadata: { name },
        spec: { map, ...more },
      })
      const mapOf = (answer: { code: number; body: Loose }) => {
        assert.ok(answer.code < 300, JSON.stringify(answer.body))
        return JSON.stringify(answer.body['spec']?.['map'] ?? {})
      }
      const read = async () => mapOf(await api.call('GET', at))
      assert.equal(
        mapOf(await api.call('POST', THINGS, body(single(key, 'made'), { any: single(key, { x: 1 }) }))),
        `{"${key}":"made"}`,
      )
      assert.equal(JSON.stringify((await api.call('GET', at)).body['spec']?.['any']), `{"${key}":{"x":1}}`)
      const unknown = await api.call(
        'POST',
        `${THINGS}?fieldValidation=Strict&dryRun=All`,
        body({}, { known: single(key, 'x') }),
      )
      assert.match(`${unknown.body['message']}`, new RegExp(`unknown field "spec.known.${key}"`))

      const merged = await api.call('PATCH', at, { spec: { map: single(key, 'merged') } }, { type: MERGE })
      assert.equal(mapOf(merged), `{"${key}":"merged"}`)
      await api.call('PATCH', at, { spec: { map: single(key, null) } }, { type: MERGE })
      assert.equal(await read(), '{}')
      await api.call('PATCH', at, [{ op: 'add', path: '/spec/map', value: {} }], { type: JSON_PATCH })
      const added = await api.call('PATCH', at, [{ op: 'add', path: `/spec/map/${key}`, value: 'added' }], {
        type: JSON_PATCH,
      })
      assert.equal(mapOf(added), `{"${key}":"added"}`)
      await api.call('PATCH', at, [{ op: 'remove', path: `/spec/map/${key}` }], { type: JSON_PATCH })
      assert.equal(await read(), '{}')
      const apply = (map: object) => api.call('PATCH', `${at}?fieldManager=m&force=true`, body(map), { type: APPLY })
      assert.equal(mapOf(await apply(single(key, 'applied'))), `{"${key}":"applied"}`)
      assert.equal(mapOf(await apply(single(key, 'again'))), `{"${key}":"again"}`)
      assert.equal(mapOf(await apply({ other: 'x' })), '{"other":"x"}')
      const yaml = `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: ${name}}\nspec: {map: {${key}: yaml}}\n`
      const put = await api.call('PATCH', `${at}?fieldManager=m&force=true`, yaml, { type: APPLY })
      assert.equal(mapOf(put), `{"${key}":"yaml"}`)
      assert.equal(await read(), `{"${key}":"yaml"}`)
    })
  }

  for (const key of INHERITED.filter((name) => !name.startsWith('__'))) {
    it(`${key} is an ordinary key of a ConfigMap in a strategic merge patch`, async () => {
      const at = `${CONFIGS}/s-${INHERITED.indexOf(key)}`
      await api.call('POST', CONFIGS, { metadata: { name: `s-${INHERITED.indexOf(key)}` }, data: { a: '1' } })
      const set = await api.call('PATCH', at, { data: single(key, 'x') }, { type: STRATEGIC })
      assert.equal(JSON.stringify(set.body['data']), `{"a":"1","${key}":"x"}`)
      const removed = await api.call('PATCH', at, { data: single(key, null) }, { type: STRATEGIC })
      assert.equal(JSON.stringify(removed.body['data']), '{"a":"1"}')
    })
  }
})
