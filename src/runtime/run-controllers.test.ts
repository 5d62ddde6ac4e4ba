import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, groupKindOf, type Key, type KindRef, keyOf, keyText } from '#api'
import type { Change, InformerOptions, Informers, Objects, Projected } from '#kube'
import { collectingLog, collectingMetrics, manualClock } from '#testing'
import type { AnyController, Wake } from './controller.ts'
import { done } from './decision.ts'
import { type RunOptions, runControllers } from './run-controllers.ts'

const kind = (name: string, namespaced = true): KindRef => ({
  group: 'test',
  version: 'v1',
  kind: name,
  plural: `${name.toLowerCase()}s`,
  namespaced,
})
const WidgetKind = kind('Widget')
const PartKind = kind('Part')
const NodeKind = kind('Node', false)

/** Informers that report the changes a test passes to them. */
function scriptedInformers() {
  const handlers = new Map<string, ((change: Change) => void)[]>()
  const registered: [string, InformerOptions][] = []
  const held = new Map<string, Projected<AnyObject>>()
  const { promise, resolve } = Promise.withResolvers<void>()
  const calls: string[] = []
  const informers: Informers = {
    get: ((of: KindRef, key: Key) => held.get(`${of.kind} ${keyText(key)}`)) as Informers['get'],
    list: () => [],
    keys: () => [],
    summaries: () => [],
    register: (of, options = {}) => void registered.push([of.kind, options]),
    onChange(of, handler) {
      handlers.set(groupKindOf(of), [...(handlers.get(groupKindOf(of)) ?? []), handler])
    },
    start: () => void calls.push('start'),
    synced(signal) {
      return new Promise((yes, no) => {
        signal?.addEventListener('abort', () => no(signal.reason))
        void promise.then(yes)
      })
    },
    stop: async () => void calls.push('stop'),
  }
  const emit = (of: KindRef, type: Change['type'], name: string, labels: Record<string, string> = {}) => {
    const object = {
      apiVersion: 'test/v1',
      kind: of.kind,
      metadata: { ...(of.namespaced ? { namespace: 'default' } : {}), name, labels },
    } as unknown as Projected<AnyObject>
    const id = `${of.kind} ${keyText(keyOf(object))}`
    const old = held.get(id)
    if (type === 'deleted') held.delete(id)
    else held.set(id, object)
    for (const handler of handlers.get(groupKindOf(of)) ?? []) handler({ type, object, ...(old ? { old } : {}) })
  }
  return { informers, registered, calls, emit, fill: resolve }
}

function aRun(over: Partial<RunOptions> & { wakes?: readonly Wake[]; turn?: (key: string) => Promise<void> } = {}) {
  const scripted = scriptedInformers()
  const clock = manualClock()
  const log = collectingLog()
  const metrics = collectingMetrics()
  const reconciles: string[] = []
  const { wakes = [], turn, ...options } = over
  const widget: AnyController = {
    name: 'widget',
    kind: WidgetKind,
    summary: false,
    wakes,
    indexes: [{ kind: PartKind, name: 'widget', values: () => [] }],
    async observe(_world, object) {
      reconciles.push(keyText(keyOf(object)))
      await turn?.(keyText(keyOf(object)))
    },
    decide: () => done,
    act: async () => undefined,
    status: () => ({}),
  }
  const running = runControllers({
    controllers: [widget],
    objects: {} as Objects,
    informers: scripted.informers,
    events: { emit: () => undefined },
    clock,
    log,
    metrics,
    ...options,
  })
  const settle = () => clock.advance(0)
  return { ...scripted, clock, log, metrics, reconciles, running, settle }
}

const partOf: Wake = {
  kind: PartKind,
  toKeys: (part) => [{ namespace: 'default', name: part.metadata.labels?.['widget'] ?? '' }],
}

describe('running controllers', () => {
  it('takes no turn before every cache is filled', async () => {
    const run = aRun()
    run.emit(WidgetKind, 'added', 'a')
    await run.settle()
    assert.deepEqual([run.calls, run.reconciles], [['start'], []])
    run.fill()
    await run.running.synced()
    await run.settle()
    assert.deepEqual(run.reconciles, ['default/a'])
  })

  it('takes no turn before it is elected, although it is synced', async () => {
    const elected = Promise.withResolvers<void>()
    const run = aRun({ elected: elected.promise })
    run.emit(WidgetKind, 'added', 'a')
    run.fill()
    await run.running.synced()
    await run.settle()
    assert.deepEqual(run.reconciles, [])
    elected.resolve()
    await run.settle()
    assert.deepEqual(run.reconciles, ['default/a'])
  })

  it('wakes the old and the new owner when a part moves from one to the other', async () => {
    const run = aRun({ wakes: [partOf] })
    run.emit(WidgetKind, 'added', 'a')
    run.emit(WidgetKind, 'added', 'b')
    run.emit(PartKind, 'added', 'p', { widget: 'a' })
    run.fill()
    await run.settle()
    run.reconciles.length = 0
    run.emit(PartKind, 'updated', 'p', { widget: 'b' })
    await run.settle()
    assert.deepEqual(run.reconciles.sort(), ['default/a', 'default/b'])
  })

  it('wakes an object by name, for news that does not come by watch', async () => {
    const run = aRun()
    run.emit(WidgetKind, 'added', 'a')
    run.fill()
    await run.settle()
    run.running.wake('widget', { namespace: 'default', name: 'a' })
    run.running.wake('nobody', { namespace: 'default', name: 'a' })
    await run.settle()
    assert.deepEqual(run.reconciles, ['default/a', 'default/a'])
  })

  it('forgets an object that was deleted', async () => {
    const run = aRun()
    run.fill()
    run.emit(WidgetKind, 'added', 'a')
    run.emit(WidgetKind, 'deleted', 'a')
    await run.settle()
    assert.deepEqual(run.reconciles, [])
  })

  it('watches the namespace it was given, but cluster-wide what has none', () => {
    const run = aRun({ namespace: 'team-a', wakes: [{ kind: NodeKind, toKeys: () => [] }] })
    const scopes = run.registered.map(([name, { namespace, indexes }]) => [name, namespace, Object.keys(indexes ?? {})])
    assert.deepEqual(scopes, [
      ['Widget', 'team-a', []],
      ['Node', undefined, []],
      ['Part', 'team-a', ['widget']],
    ])
  })

  it('lives on when the mapping of a change to keys has a bug', async () => {
    const broken: Wake = {
      kind: PartKind,
      toKeys: () => {
        throw new Error('bug')
      },
    }
    const run = aRun({ wakes: [broken] })
    run.fill()
    run.emit(PartKind, 'added', 'p')
    run.emit(WidgetKind, 'added', 'a')
    await run.settle()
    assert.deepEqual(run.reconciles, ['default/a'])
    assert.ok(run.log.lines.some((line) => line.message === 'Wake failed'))
  })

  it('stops after the reconciles under way, and then the informers', async () => {
    const gate = Promise.withResolvers<void>()
    const run = aRun({ concurrency: 1, turn: () => gate.promise })
    run.fill()
    run.emit(WidgetKind, 'added', 'a')
    run.emit(WidgetKind, 'added', 'b')
    await run.settle()
    const stopped = run.running.stop()
    await run.settle()
    assert.deepEqual(run.calls, ['start'])
    gate.resolve()
    await stopped
    assert.deepEqual([run.reconciles, run.calls], [['default/a'], ['start', 'stop']])
  })

  it('stops within its grace when a reconcile hangs, and says so', async () => {
    const run = aRun({ graceMs: 5000, turn: () => new Promise(() => undefined) })
    run.fill()
    run.emit(WidgetKind, 'added', 'a')
    await run.settle()
    const stopped = run.running.stop()
    await run.clock.advance(5000)
    await stopped
    assert.ok(run.log.lines.some((line) => line.message === 'Stopped with reconciles unfinished'))
  })

  it('can be stopped while its caches are still empty', async () => {
    const run = aRun()
    await run.running.stop()
    await assert.rejects(run.running.synced(), { code: 'CAPT_STOPPED' })
    assert.deepEqual(run.calls, ['start', 'stop'])
  })

  it('refuses two controllers of one name', () => {
    const widget = { name: 'widget', kind: WidgetKind, wakes: [] } as unknown as AnyController
    assert.throws(() => aRun({ controllers: [widget, widget] }), { code: 'CAPT_CONTROLLER_TWICE' })
  })

  it('counts reconciles under the names controller-runtime made known', async () => {
    const run = aRun({ concurrency: { widget: 7 } })
    run.fill()
    run.emit(WidgetKind, 'added', 'a')
    await run.settle()
    const value = (name: string, more = {}) => run.metrics.value(name, { controller: 'widget', ...more })
    assert.equal(value('controller_runtime_reconcile_total', { result: 'success' }), 1)
    assert.equal(value('controller_runtime_reconcile_time_seconds'), 1)
    assert.equal(value('controller_runtime_max_concurrent_reconciles'), 7)
    assert.equal(value('controller_runtime_active_workers'), 0)
    assert.equal(value('controller_runtime_reconcile_errors_total'), undefined)
  })
})
