// The whole loop over an API server in memory: a widget owns a part, waits for it, and takes it away again.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, type Condition, isTrue, type Key, type KindRef, ownerUidsOf } from '#api'
import { collectingLog, type MemoryClusterOptions, manualClock, memoryCluster } from '#testing'
import type { Controller } from './controller.ts'
import { act, type Decision, done, waiting } from './decision.ts'
import { addFinalizer, hasFinalizer, removeFinalizer } from './finalizers.ts'
import { controllerOf, ownerReference } from './owners.ts'
import { runControllers } from './run-controllers.ts'

interface Widget extends AnyObject {
  readonly spec: { readonly size: number }
  readonly status?: { readonly conditions?: readonly Condition[]; readonly partSize?: number }
}
const kind = (name: string): KindRef => ({
  group: 'test.capt',
  version: 'v1',
  kind: name,
  plural: `${name.toLowerCase()}s`,
  namespaced: true,
})
const WidgetKind = kind('Widget')
const PartKind = kind('Part')
const FINALIZER = 'test.capt/widget'

interface Seen {
  readonly widget: Widget
  readonly part: Widget | undefined
}
type Action = { do: 'add-finalizer' | 'remove-finalizer' | 'apply-part' | 'delete-part' }

const widgets: Controller<Widget, Seen, Action> = {
  name: 'widget',
  kind: WidgetKind,
  wakes: [
    {
      kind: PartKind,
      toKeys: (part) => {
        const owner = controllerOf(part)
        return owner ? [{ namespace: part.metadata.namespace!, name: owner.name }] : []
      },
    },
  ],
  indexes: [{ kind: PartKind, name: 'owner', values: ownerUidsOf }],
  observe: async ({ cache }, widget) => ({
    widget,
    part: cache.list<Widget>(PartKind, { index: 'owner', value: widget.metadata.uid! })[0],
  }),
  decide({ widget, part }): Decision<Action> {
    if (widget.metadata.deletionTimestamp) {
      if (!part) return act({ do: 'remove-finalizer' })
      return part.metadata.deletionTimestamp
        ? waiting('PartLeaving', 'Waiting for the part')
        : act({ do: 'delete-part' })
    }
    if (!hasFinalizer(widget, FINALIZER)) return act({ do: 'add-finalizer' })
    if (part?.spec.size !== widget.spec.size) return act({ do: 'apply-part' })
    return isTrue(part, 'Ready') ? done : waiting('PartNotReady', 'Waiting for the part')
  },
  async act({ objects }, { widget, part }, action) {
    if (action.do === 'add-finalizer') return addFinalizer(objects, WidgetKind, widget, FINALIZER)
    if (action.do === 'remove-finalizer') return removeFinalizer(objects, WidgetKind, widget, FINALIZER)
    if (action.do === 'delete-part')
      return objects.delete(PartKind, { namespace: 'default', name: part!.metadata.name })
    const metadata = {
      namespace: 'default',
      name: `${widget.metadata.name}-part`,
      ownerReferences: [ownerReference(widget, { controller: true })],
    }
    await objects.apply<AnyObject>(PartKind, {
      apiVersion: 'test.capt/v1',
      kind: 'Part',
      metadata,
      ...{ spec: { size: widget.spec.size } },
    })
  },
  status: ({ part }) => ({ fields: { partSize: part?.spec.size } }),
}

const KEY: Key = { namespace: 'default', name: 'w' }
const READY: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}

async function aLoop(options: MemoryClusterOptions = {}) {
  const cluster = memoryCluster(options)
  const clock = manualClock()
  const log = collectingLog()
  const events: string[] = []
  const running = runControllers({
    controllers: [widgets],
    objects: cluster.objects,
    informers: cluster.informers,
    events: { emit: (_about, { reason }) => void events.push(reason) },
    clock,
    log,
  })
  await running.synced()
  const settle = async () => {
    for (let i = 0; i < 10; i++) {
      cluster.flush()
      await clock.advance(50)
    }
  }
  const create = () =>
    cluster.others.create<Widget>(WidgetKind, {
      apiVersion: 'test.capt/v1',
      kind: 'Widget',
      metadata: { ...KEY },
      spec: { size: 1 },
    })
  const makePartReady = () =>
    cluster.others.patch(
      PartKind,
      { namespace: 'default', name: 'w-part' },
      { type: 'merge', body: { status: { conditions: [READY] } } },
      { subresource: 'status' },
    )
  const widget = () => cluster.peek<Widget>(WidgetKind, KEY)
  return { cluster, clock, log, events, running, settle, create, makePartReady, widget }
}

for (const delivery of ['sync', 'manual'] as const) {
  describe(`the loop over an API server whose watches are ${delivery === 'sync' ? 'immediate' : 'late'}`, () => {
    it('brings an object to Ready, keeps quiet, follows a change, and lets it go', async () => {
      const { cluster, events, running, settle, create, makePartReady, widget, log } = await aLoop({ delivery })
      await create()
      await settle()
      assert.partialDeepStrictEqual(widget()?.status, {
        partSize: 1,
        conditions: [{ type: 'Ready', reason: 'PartNotReady' }],
      })

      await makePartReady()
      await settle()
      assert.equal(isTrue(widget()!, 'Ready'), true)
      assert.deepEqual(events, ['Ready'])

      const quiet = cluster.requests.length
      running.wake('widget', KEY)
      await settle()
      assert.equal(cluster.requests.length, quiet, 'a settled object makes no request')

      await cluster.others.patch(WidgetKind, KEY, { type: 'merge', body: { spec: { size: 2 } } })
      await settle()
      assert.equal(cluster.peek<Widget>(PartKind, { namespace: 'default', name: 'w-part' })?.spec.size, 2)
      assert.equal(widget()?.status?.conditions?.[0]?.observedGeneration, 2)

      await cluster.others.delete(WidgetKind, KEY)
      await settle()
      assert.equal(widget(), undefined)
      assert.equal(cluster.peek(PartKind, { namespace: 'default', name: 'w-part' }), undefined)
      assert.deepEqual(
        log.lines.filter(({ level }) => level === 'error' || level === 'warn'),
        [],
      )
      await running.stop()
    })

    it('gets there through conflicts, refusals and lost answers', async () => {
      const { cluster, running, settle, create, makePartReady, widget } = await aLoop({ delivery })
      cluster.failNext('*', '*', 'Conflict')
      cluster.failNext('apply', '*', 'Unreachable', { carriedOut: true })
      cluster.failNext('patch', '*', 'ServerError', { times: 3 })
      await create()
      await settle()
      await makePartReady()
      cluster.failNext('patch', '*', 'Unreachable', { carriedOut: true })
      await settle()
      assert.equal(isTrue(widget()!, 'Ready'), true)
      await running.stop()
    })
  })
}

describe('an object', () => {
  it('becomes Ready with few requests', async () => {
    const { cluster, running, settle, create, makePartReady } = await aLoop()
    await create()
    await settle()
    await makePartReady()
    await settle()
    const verbs = cluster.requests.map(({ verb, subresource }) => (subresource ? `${verb} ${subresource}` : verb))
    assert.deepEqual(verbs, ['patch', 'patch status', 'apply', 'patch status', 'patch status'])
    await running.stop()
  })
})
