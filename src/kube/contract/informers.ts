// What Informers promises: what the cache shows of own and foreign writes, indexes, projections and selections.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type AnyObject, ConfigMapKind, type Key, type KindRef, ownerUidsOf } from '#api'
import type { Change, Informers, Objects } from '../port.ts'
import type { InNamespace } from './objects.ts'
import { aWidget, eventually, merge, type Widget, WidgetKind } from './widgets.ts'

export interface Opened {
  readonly objects: Objects
  readonly informers: Informers
  /** Another client of the same server; the same one when the server has no other. */
  readonly others?: Objects
  close(): Promise<void>
}

export function informerCases(inNamespace: InNamespace, open: () => Promise<Opened>): void {
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
      const indexes = {
        owner: ownerUidsOf,
        colour: (object: AnyObject) => [(object as Widget).spec?.colour ?? 'none'],
      }
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
}
