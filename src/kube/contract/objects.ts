// What Objects promises: one case per behaviour of reads, writes, patches, deletion and lists.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type ConfigMap, ConfigMapKind, keyOf } from '#api'
import type { Objects } from '../port.ts'
import { aConfig, aWidget, collect, merge, NobodysKind, refusedBecause, type Widget, WidgetKind } from './widgets.ts'

/** Works in a namespace of its own, which is deleted afterwards. */
export type InNamespace = (work: (namespace: string, objects: Objects) => Promise<void>) => Promise<void>

export function objectCases(inNamespace: InNamespace): void {
  it('answers nothing for an object that is not there, and refuses a kind that is not served', () =>
    inNamespace(async (namespace, objects) => {
      const key = { namespace, name: 'absent' }
      assert.equal(await objects.get(ConfigMapKind, key), undefined)
      await assert.rejects(objects.get(NobodysKind, key), refusedBecause('KindNotServed'))
      await assert.rejects(collect(objects.list(NobodysKind)), refusedBecause('KindNotServed'))
      await assert.rejects(objects.patch(ConfigMapKind, key, merge({ data: {} })), refusedBecause('NotFound'))
      await objects.delete(ConfigMapKind, key)
    }))

  it('gives a new object its identity, and refuses the name a second time', () =>
    inNamespace(async (namespace, objects) => {
      const made = await objects.create(ConfigMapKind, aConfig(namespace))
      assert.ok(made.metadata.uid && made.metadata.resourceVersion && made.metadata.creationTimestamp)
      assert.deepEqual(made.data, { a: '1' })
      assert.equal(made.kind, 'ConfigMap')
      await assert.rejects(objects.create(ConfigMapKind, aConfig(namespace)), refusedBecause('AlreadyExists'))
      assert.deepEqual(await objects.get(ConfigMapKind, keyOf(made)), made)
    }))

  it('makes up a name when only its beginning is given', () =>
    inNamespace(async (namespace, objects) => {
      const { name: _name, ...metadata } = aConfig(namespace, { generateName: 'made-' }).metadata
      const nameless = { ...aConfig(namespace), metadata } as ConfigMap
      const [a, b] = [await objects.create(ConfigMapKind, nameless), await objects.create(ConfigMapKind, nameless)]
      assert.match(a.metadata.name, /^made-./)
      assert.notEqual(a.metadata.name, b.metadata.name)
    }))

  it('keeps spec and status apart and counts generations by the spec alone', () =>
    inNamespace(async (namespace, objects) => {
      const key = { namespace, name: 'one' }
      const made = await objects.create<Widget>(WidgetKind, { ...aWidget(namespace), status: { phase: 'Lie' } })
      assert.equal(made.status, undefined)
      assert.equal(made.metadata.generation, 1)
      const answer = await objects.patch<Widget>(
        WidgetKind,
        key,
        merge({ status: { phase: 'Up' }, spec: { size: 9 } }),
        {
          subresource: 'status',
        },
      )
      assert.deepEqual([answer.status, answer.spec?.size, answer.metadata.generation], [{ phase: 'Up' }, 1, 1])
      const grown = await objects.patch<Widget>(WidgetKind, key, merge({ spec: { size: 2 }, status: { phase: 'No' } }))
      assert.deepEqual([grown.status, grown.spec?.size, grown.metadata.generation], [{ phase: 'Up' }, 2, 2])
      const labelled = await objects.patch<Widget>(WidgetKind, key, merge({ metadata: { labels: { a: 'b' } } }))
      assert.equal(labelled.metadata.generation, 2)
      const replaced = await objects.replace<Widget>(
        WidgetKind,
        { ...labelled, status: { phase: 'Down' } },
        {
          subresource: 'status',
        },
      )
      assert.deepEqual([replaced.status, replaced.metadata.generation], [{ phase: 'Down' }, 2])
    }))

  it('refuses a write that is based on an older version', () =>
    inNamespace(async (namespace, objects) => {
      const first = await objects.create(ConfigMapKind, aConfig(namespace))
      const second = await objects.replace(ConfigMapKind, { ...first, data: { a: '2' } })
      await assert.rejects(objects.replace(ConfigMapKind, { ...first, data: {} }), refusedBecause('Conflict'))
      const { resourceVersion: stale } = first.metadata
      const patch = (resourceVersion?: string) =>
        objects.patch<ConfigMap>(
          ConfigMapKind,
          keyOf(first),
          merge({ metadata: { resourceVersion }, data: { b: '3' } }),
        )
      await assert.rejects(patch(stale), refusedBecause('Conflict'))
      assert.deepEqual((await patch(second.metadata.resourceVersion)).data, { a: '2', b: '3' })
      const { resourceVersion: _version, ...metadata } = first.metadata
      await assert.rejects(objects.replace(ConfigMapKind, { ...first, metadata }), refusedBecause('Invalid'))
    }))

  it('merges, removes by null and replaces lists', () =>
    inNamespace(async (namespace, objects) => {
      const made = await objects.create<Widget>(WidgetKind, aWidget(namespace))
      const body = { spec: { size: null, colour: 'red', tags: ['y', 'z'] } }
      const { spec } = await objects.patch<Widget>(WidgetKind, keyOf(made), merge(body))
      assert.deepEqual(spec, { colour: 'red', tags: ['y', 'z'] })
    }))

  it('applies a JSON patch whole or not at all', () =>
    inNamespace(async (namespace, objects) => {
      const made = await objects.create<Widget>(WidgetKind, aWidget(namespace))
      const change = { op: 'add', path: '/spec/tags/-', value: 'y' }
      const patched = await objects.patch<Widget>(WidgetKind, keyOf(made), { type: 'json', body: [change] })
      assert.deepEqual(patched.spec?.tags, ['x', 'y'])
      const guarded = { type: 'json', body: [change, { op: 'test', path: '/spec/size', value: 7 }] } as const
      await assert.rejects(objects.patch(WidgetKind, keyOf(made), guarded), refusedBecause('Invalid'))
      assert.deepEqual((await objects.get<Widget>(WidgetKind, keyOf(made)))?.spec?.tags, ['x', 'y'])
    }))

  it('leaves an object alone when a write changes nothing', () =>
    inNamespace(async (namespace, objects) => {
      const made = await objects.create<Widget>(WidgetKind, aWidget(namespace))
      const same = await objects.patch<Widget>(WidgetKind, keyOf(made), merge({ spec: { size: 1 } }))
      assert.equal(same.metadata.resourceVersion, made.metadata.resourceVersion)
    }))

  it('applies what is absent, and what is there without touching what others set', () =>
    inNamespace(async (namespace, objects) => {
      const made = await objects.apply<Widget>(WidgetKind, aWidget(namespace, { finalizers: ['example.com/ours'] }))
      await objects.patch(WidgetKind, keyOf(made), merge({ metadata: { labels: { theirs: 'yes' } } }), {
        fieldManager: 'somebody',
      })
      const grown: Widget = { ...aWidget(namespace, { finalizers: ['example.com/ours'] }), spec: { size: 2 } }
      const again = await objects.apply<Widget>(WidgetKind, grown)
      assert.deepEqual([again.spec?.size, again.metadata.labels], [2, { theirs: 'yes' }])
      const status = { ...aWidget(namespace), spec: undefined, status: { phase: 'Up' } }
      const answer = await objects.apply<Widget>(WidgetKind, status, { subresource: 'status' })
      assert.deepEqual([answer.status, answer.spec?.size], [{ phase: 'Up' }, 2])
      await objects.patch(WidgetKind, keyOf(made), merge({ metadata: { finalizers: null } }))
    }))

  it('tries a write without doing it', () =>
    inNamespace(async (namespace, objects) => {
      const tried = await objects.create(ConfigMapKind, aConfig(namespace), { dryRun: true })
      assert.deepEqual(tried.data, { a: '1' })
      assert.equal(await objects.get(ConfigMapKind, keyOf(tried)), undefined)
    }))

  it('deletes only the object that was meant', () =>
    inNamespace(async (namespace, objects) => {
      const made = await objects.create(ConfigMapKind, aConfig(namespace))
      const { uid, resourceVersion } = made.metadata
      const other = '00000000-0000-4000-8000-ffffffffffff'
      await assert.rejects(objects.delete(ConfigMapKind, keyOf(made), { uid: other }), refusedBecause('Conflict'))
      await objects.patch(ConfigMapKind, keyOf(made), merge({ data: { b: '2' } }))
      await assert.rejects(objects.delete(ConfigMapKind, keyOf(made), { resourceVersion }), refusedBecause('Conflict'))
      await objects.delete(ConfigMapKind, keyOf(made), { uid })
      assert.equal(await objects.get(ConfigMapKind, keyOf(made)), undefined)
    }))

  it('keeps a deleted object until its last finalizer is gone', () =>
    inNamespace(async (namespace, objects) => {
      const made = await objects.create<Widget>(WidgetKind, aWidget(namespace, { finalizers: ['example.com/hold'] }))
      await objects.delete(WidgetKind, keyOf(made))
      const dying = await objects.get<Widget>(WidgetKind, keyOf(made))
      assert.ok(dying?.metadata.deletionTimestamp)
      assert.equal(dying.metadata.generation, 2)
      await objects.patch(WidgetKind, keyOf(made), merge({ metadata: { finalizers: null } }))
      assert.equal(await objects.get(WidgetKind, keyOf(made)), undefined)
    }))

  it('lists over pages, by namespace and by selector', () =>
    inNamespace(async (namespace, objects) => {
      const names = Array.from({ length: 120 }, (_, i) => `item-${String(i).padStart(3, '0')}`)
      const put = (name: string, i: number) =>
        objects.create(ConfigMapKind, aConfig(namespace, { name, labels: { parity: i % 2 === 0 ? 'even' : 'odd' } }))
      for (let i = 0; i < names.length; i += 20)
        await Promise.all(names.slice(i, i + 20).map((name, j) => put(name, i + j)))
      const found = await collect(objects.list<ConfigMap>(ConfigMapKind, { namespace }))
      const listed = found.filter((item) => item.metadata.name.startsWith('item-'))
      assert.deepEqual(listed.map((item) => item.metadata.name).sort(), names)
      assert.ok(listed.every((item) => item.kind === 'ConfigMap' && item.apiVersion === 'v1'))
      const even = await collect(objects.list(ConfigMapKind, { namespace, labelSelector: 'parity in (even)' }))
      assert.equal(even.length, 60)
      const one = await collect(objects.list(ConfigMapKind, { namespace, fieldSelector: 'metadata.name=item-007' }))
      assert.deepEqual(
        one.map((item) => item.metadata.name),
        ['item-007'],
      )
    }))
}
