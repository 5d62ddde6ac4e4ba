// What Objects and Informers promise, as cases that run over the memory cluster and over real servers alike.
// Each case works in a namespace of its own.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import {
  type AnyObject,
  type ConfigMap,
  ConfigMapKind,
  CustomResourceDefinitionKind,
  type Key,
  type KindRef,
  keyOf,
  NamespaceKind,
} from '#api'
import { type Change, type Informers, isKubeError, type KubeErrorReason, type Objects } from './port.ts'

export interface Opened {
  readonly objects: Objects
  readonly informers: Informers
  /** Another client of the same server; the same one when the server has no other. */
  readonly others?: Objects
  close(): Promise<void>
}

export const WidgetKind: KindRef = {
  group: 'contract.example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
}

/** A kind that no server under test may serve. */
export const NobodysKind: KindRef = { ...WidgetKind, group: 'nobody.example.com', kind: 'Nothing', plural: 'nothings' }

interface Widget extends AnyObject {
  readonly spec?: { readonly size?: number; readonly colour?: string; readonly tags?: readonly string[] }
  readonly status?: { readonly phase?: string }
}

const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${WidgetKind.plural}.${WidgetKind.group}` },
  spec: {
    group: WidgetKind.group,
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}

const refusedBecause =
  (...reasons: readonly KubeErrorReason[]) =>
  (error: unknown) =>
    isKubeError(error, ...reasons)

async function eventually(check: () => boolean, what: string): Promise<void> {
  for (const until = performance.now() + 10_000; performance.now() < until; ) {
    if (check()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.fail(`did not happen: ${what}`)
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

export function objectsContract(name: string, open: () => Promise<Opened>): void {
  describe(`objects and informers over ${name}`, () => {
    let home: Opened
    before(async () => {
      home = await open()
      await serveWidgets(home.objects)
    })
    after(() => home.close())

    const inNamespace = async (work: (namespace: string, objects: Objects) => Promise<void>) => {
      const namespace = `contract-${randomBytes(4).toString('hex')}`
      await home.objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      try {
        await work(namespace, home.objects)
      } finally {
        await home.objects.delete(NamespaceKind, { name: namespace })
      }
    }
    const aConfig = (namespace: string, over: Partial<AnyObject['metadata']> = {}): ConfigMap => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name: 'settings', ...over },
      data: { a: '1' },
    })
    const aWidget = (namespace: string, over: Partial<AnyObject['metadata']> = {}): Widget => ({
      apiVersion: 'contract.example.com/v1',
      kind: 'Widget',
      metadata: { namespace, name: 'one', ...over },
      spec: { size: 1, tags: ['x'] },
    })
    const merge = (body: object) => ({ type: 'merge', body }) as const

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
        const told = await objects.patch<Widget>(
          WidgetKind,
          key,
          merge({ status: { phase: 'Up' }, spec: { size: 9 } }),
          {
            subresource: 'status',
          },
        )
        assert.deepEqual([told.status, told.spec?.size, told.metadata.generation], [{ phase: 'Up' }, 1, 1])
        const grown = await objects.patch<Widget>(
          WidgetKind,
          key,
          merge({ spec: { size: 2 }, status: { phase: 'No' } }),
        )
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
        const told = await objects.apply<Widget>(WidgetKind, status, { subresource: 'status' })
        assert.deepEqual([told.status, told.spec?.size], [{ phase: 'Up' }, 2])
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
        await assert.rejects(
          objects.delete(ConfigMapKind, keyOf(made), { resourceVersion }),
          refusedBecause('Conflict'),
        )
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

    const watching = async (
      kind: KindRef,
      options: Parameters<Informers['register']>[1],
      work: (opened: Opened & { readonly changes: Change[]; readonly others: Objects }) => Promise<void>,
    ) => {
      const opened = await open()
      const changes: Change[] = []
      opened.informers.register(kind, options)
      opened.informers.onChange(kind, (change) => changes.push(change))
      opened.informers.start()
      try {
        await opened.informers.synced(AbortSignal.timeout(10_000))
        await work({ ...opened, others: opened.others ?? opened.objects, changes })
      } finally {
        await opened.close()
      }
    }

    it('shows in the cache what was there, and what others do later', () =>
      inNamespace((namespace) =>
        watching(WidgetKind, { namespace }, async ({ informers, others, changes }) => {
          const key: Key = { namespace, name: 'one' }
          await others.create(WidgetKind, aWidget(namespace))
          await eventually(() => informers.get(WidgetKind, key) !== undefined, 'the object is seen')
          await others.patch(WidgetKind, key, merge({ spec: { size: 2 } }))
          await eventually(() => informers.get<Widget>(WidgetKind, key)?.spec?.size === 2, 'the change is seen')
          await others.delete(WidgetKind, key)
          await eventually(() => informers.get(WidgetKind, key) === undefined, 'the deletion is seen')
          assert.deepEqual(
            changes.map(({ type }) => type),
            ['added', 'updated', 'deleted'],
          )
          assert.equal((changes[1]?.old as Widget | undefined)?.spec?.size, 1)
        }),
      ))

    it('shows our own write in the cache as soon as it was answered', () =>
      inNamespace((namespace) =>
        watching(WidgetKind, { namespace }, async ({ informers, objects }) => {
          const key: Key = { namespace, name: 'one' }
          for (let size = 1; size <= 10; size++) {
            await objects.create<Widget>(WidgetKind, { ...aWidget(namespace), spec: { size } })
            assert.equal(informers.get<Widget>(WidgetKind, key)?.spec?.size, size)
            await objects.patch(WidgetKind, key, merge({ spec: { size: -size } }))
            assert.equal(informers.get<Widget>(WidgetKind, key)?.spec?.size, -size)
            await objects.delete(WidgetKind, key)
            assert.equal(informers.get(WidgetKind, key), undefined)
          }
        }),
      ))

    it('finds objects by owner, by a registered index and by namespace', () =>
      inNamespace((namespace) => {
        const indexes = { colour: (object: AnyObject) => [(object as Widget).spec?.colour ?? 'none'] }
        return watching(WidgetKind, { namespace, indexes }, async ({ informers, objects }) => {
          const owner = await objects.create<Widget>(WidgetKind, aWidget(namespace, { name: 'owner' }))
          const { apiVersion, kind, metadata } = owner
          const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid! }]
          const child = { ...aWidget(namespace, { name: 'child', ownerReferences }), spec: { colour: 'red' } }
          await objects.create<Widget>(WidgetKind, child)
          const names = (query: Parameters<Informers['list']>[1]) =>
            informers.list(WidgetKind, query).map((item) => item.metadata.name)
          assert.deepEqual(names({ index: 'owner', value: metadata.uid! }), ['child'])
          assert.deepEqual(names({ index: 'colour', value: 'red' }), ['child'])
          assert.deepEqual(names({ namespace }).sort(), ['child', 'owner'])
          await objects.patch(WidgetKind, { namespace, name: 'child' }, merge({ spec: { colour: 'blue' } }))
          assert.deepEqual(
            [names({ index: 'colour', value: 'red' }), names({ index: 'colour', value: 'blue' })],
            [[], ['child']],
          )
          assert.throws(() => informers.list(WidgetKind, { index: 'nobody', value: 'x' }))
          assert.throws(() => informers.get(ConfigMapKind, { namespace, name: 'x' }))
        })
      }))

    it('keeps of an object what the projection keeps, and never managedFields or last-applied', () =>
      inNamespace((namespace) => {
        const project = (object: AnyObject) => ({ ...object, spec: undefined })
        return watching(WidgetKind, { namespace, project }, async ({ informers, others }) => {
          const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', kept: 'yes' }
          await others.create(WidgetKind, aWidget(namespace, { annotations }))
          const key = { namespace, name: 'one' }
          await eventually(() => informers.get(WidgetKind, key) !== undefined, 'the object is seen')
          const seen = informers.get<Widget>(WidgetKind, key)
          assert.equal(seen?.spec, undefined)
          assert.deepEqual([seen?.metadata.annotations, seen?.metadata.managedFields], [{ kept: 'yes' }, undefined])
        })
      }))

    it('forgets an object that leaves the selection', () =>
      inNamespace((namespace) =>
        watching(WidgetKind, { namespace, labelSelector: 'team=a' }, async ({ informers, others }) => {
          const key = { namespace, name: 'one' }
          await others.create(WidgetKind, aWidget(namespace, { labels: { team: 'a' } }))
          await others.create(WidgetKind, aWidget(namespace, { name: 'two', labels: { team: 'b' } }))
          await eventually(() => informers.get(WidgetKind, key) !== undefined, 'the object is seen')
          await others.patch(WidgetKind, key, merge({ metadata: { labels: { team: 'b' } } }))
          await eventually(() => informers.get(WidgetKind, key) === undefined, 'the object is forgotten')
          assert.deepEqual(informers.list(WidgetKind), [])
        }),
      ))
  })
}

async function serveWidgets(objects: Objects): Promise<void> {
  const isServed = async () => {
    try {
      await objects.get(WidgetKind, { namespace: 'default', name: 'probe' })
      return true
    } catch (error) {
      if (isKubeError(error, 'KindNotServed')) return false
      throw error
    }
  }
  if (await isServed()) return
  await objects.apply(CustomResourceDefinitionKind, widgetDefinition)
  for (const until = performance.now() + 20_000; performance.now() < until; ) {
    if (await isServed()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.fail('the server does not serve the definition it was given')
}
