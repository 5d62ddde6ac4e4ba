import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, type Condition, type Key, type KindRef, keyText } from '#api'
import { type Cache, type Events, KubeError, type Objects, type Patch, type WriteOptions } from '#kube'
import { isPlainObject } from '#lib'
import { collectingLog, manualClock } from '#testing'
import type { AnyController, Controller, StatusReport, World } from './controller.ts'
import { act, type Decision, done, doneFor, stalled, waiting, waitingInGracePeriod } from './decision.ts'
import { createReconcile } from './reconcile.ts'
import { warnCluster } from './status/cluster-events.ts'

interface Widget extends AnyObject {
  readonly spec?: { readonly size?: number }
  readonly status?: { readonly conditions?: readonly Condition[]; readonly [field: string]: unknown }
}
const WidgetKind: KindRef = { group: 'test', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
const KEY: Key = { namespace: 'default', name: 'w' }

/** One kind, no server: the objects that a reconcile reads, and every write it makes. */
function aStore(...widgets: readonly Partial<Widget>[]) {
  const held = new Map<string, Widget>()
  const writes: { what: string; key: string; body: Record<string, unknown>; options: WriteOptions | undefined }[] = []
  const events: string[] = []
  let version = 1
  let refusal: KubeError | undefined
  const put = (widget: Partial<Widget>) => {
    const metadata = { ...KEY, uid: 'u1', generation: 1, resourceVersion: String(version++), ...widget.metadata }
    held.set(keyText(metadata), { apiVersion: 'test/v1', kind: 'Widget', ...widget, metadata })
  }
  for (const widget of widgets) put(widget)
  const merged = (base: unknown, patch: unknown): unknown => {
    if (!isPlainObject(patch)) return patch
    const result: Record<string, unknown> = isPlainObject(base) ? { ...base } : {}
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) delete result[name]
      else result[name] = merged(result[name], value)
    }
    return result
  }
  const objects = {
    async patch(_kind: KindRef, key: Key, patch: Patch, options?: WriteOptions) {
      const body = patch.body as Record<string, unknown>
      writes.push({ what: 'patch', key: keyText(key), body, options })
      if (refusal) throw refusal
      const known = held.get(keyText(key))
      if (!known) throw new KubeError('NotFound', 'gone')
      const asked = (body['metadata'] as { resourceVersion?: string } | undefined)?.resourceVersion
      if (asked !== undefined && asked !== known.metadata.resourceVersion) throw new KubeError('Conflict', 'moved on')
      const next = merged(known, body) as Widget
      held.set(keyText(key), { ...next, metadata: { ...next.metadata, resourceVersion: String(version++) } })
      return held.get(keyText(key))
    },
  } as unknown as Objects
  const cache: Cache = {
    get: ((_kind: KindRef, key: Key) => held.get(keyText(key))) as Cache['get'],
    list: () => [],
    keys: () => [],
    summaries: () => [],
  }
  const clock = manualClock()
  const log = collectingLog()
  const recorder: Events = {
    emit: (about, event) => events.push(`${event.type} ${event.reason} ${about.metadata.name}: ${event.message}`),
  }
  const world: World = { objects, cache, events: recorder, clock, log }
  return {
    world,
    clock,
    log,
    writes,
    events,
    put,
    drop: (key: Key) => held.delete(keyText(key)),
    refuse: (error: KubeError | undefined) => {
      refusal = error
    },
    widget: () => held.get(keyText(KEY))!,
    ready: () => held.get(keyText(KEY))?.status?.conditions?.find((condition) => condition.type === 'Ready'),
    conditions: () => held.get(keyText(KEY))?.status?.conditions ?? [],
  }
}

interface Script {
  decision?: Decision<{ do: string }>
  report?: StatusReport
  act?: (world: World) => Promise<void>
  observe?: () => Promise<unknown>
  summary?: string | false
  defersStatus?: () => boolean
}
function aController(script: Script): AnyController {
  const controller: Controller<Widget, unknown, { do: string }> = {
    name: 'widget',
    kind: WidgetKind,
    wakes: [],
    ...(script.summary === undefined ? {} : { summary: script.summary }),
    ...(script.defersStatus === undefined ? {} : { defersStatus: script.defersStatus }),
    observe: async (_world, object) => (script.observe ? script.observe() : { size: object.spec?.size }),
    decide: () => script.decision ?? done,
    act: async (world) => script.act?.(world),
    status: () => script.report ?? {},
  }
  return controller
}

describe('one reconcile', () => {
  it('says Ready when the decision is done, with the generation it was about', async () => {
    const fixture = aStore({ metadata: { ...KEY, generation: 7 } })
    const end = await createReconcile(aController({}), fixture.world)(KEY, 0)
    assert.deepEqual(end, { again: 'never', result: 'success' })
    assert.deepEqual(fixture.ready(), {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 7,
    })
    assert.deepEqual(fixture.events, ['Normal Ready w: Widget w is ready'])
    assert.deepEqual(fixture.writes[0]?.options, { subresource: 'status' })
    assert.deepEqual(fixture.writes[0]?.body['metadata'], { resourceVersion: '1' })
  })

  it('writes and emits nothing when nothing changed', async () => {
    const fixture = aStore({})
    const script: Script = { decision: waiting('TemplateMissing', 'No template'), report: { fields: { a: { b: 1 } } } }
    const reconcile = createReconcile(aController(script), fixture.world)
    await reconcile(KEY, 0)
    await fixture.clock.advance(60_000)
    await reconcile(KEY, 0)
    await reconcile(KEY, 0)
    assert.equal(fixture.writes.length, 1)
    assert.deepEqual(fixture.events, [])
  })

  it('leaves the status of a row of steps to the last reconcile, unless something of it would be lost', async () => {
    const fixture = aStore({ spec: { size: 1 } })
    let isLost = false
    const step: Script = {
      decision: act({ do: 'something' }),
      report: { fields: { step: 1 } },
      act: async () => fixture.put({ spec: { size: 2 } }),
      defersStatus: () => !isLost,
    }
    assert.equal((await createReconcile(aController(step), fixture.world)(KEY, 0)).again, 'now')
    assert.deepEqual(fixture.writes, [])
    isLost = true
    await createReconcile(aController(step), fixture.world)(KEY, 0)
    assert.equal(fixture.widget().status?.['step'], 1)
  })

  it('does not report a wait within its grace period', async () => {
    const fixture = aStore({})
    const end = await createReconcile(
      aController({ decision: waitingInGracePeriod('Soon', 'a moment', 5) }),
      fixture.world,
    )(KEY, 0)
    assert.deepEqual([end.again, fixture.writes], [{ afterMs: 5000 }, []])
  })

  it('shows why it waits, and keeps the time while only the words change', async () => {
    const fixture = aStore({})
    const script: Script = { decision: waiting('DependencyNotReady', 'Waiting for a') }
    const reconcile = createReconcile(aController(script), fixture.world)
    await reconcile(KEY, 0)
    await fixture.clock.advance(60_000)
    script.decision = waiting('RunInProgress', 'Running', 30)
    assert.deepEqual(await reconcile(KEY, 0), { again: { afterMs: 30_000 }, result: 'requeue_after' })
    assert.partialDeepStrictEqual(fixture.ready(), {
      status: 'False',
      reason: 'RunInProgress',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })
    script.decision = done
    await reconcile(KEY, 0)
    assert.equal(fixture.ready()?.lastTransitionTime, '2026-01-01T00:01:00Z')
  })

  it('marks an object that needs a person, with the hint, once, and takes the mark away again', async () => {
    const fixture = aStore({})
    const script: Script = { decision: stalled('ApplyRejected', 'AccessDenied.', 'Allow eks:CreateCluster') }
    const reconcile = createReconcile(aController(script), fixture.world)
    await reconcile(KEY, 0)
    await reconcile(KEY, 0)
    const message = 'AccessDenied. Allow eks:CreateCluster'
    assert.partialDeepStrictEqual(fixture.conditions(), [
      { type: 'Ready', status: 'False', reason: 'ApplyRejected', message },
      { type: 'Stalled', status: 'True', reason: 'ApplyRejected', message },
    ])
    assert.deepEqual(fixture.events, [`Warning ApplyRejected w: ${message}`])
    script.decision = waiting('RunInProgress', 'Running')
    await reconcile(KEY, 0)
    assert.deepEqual(
      fixture.conditions().map((condition) => condition.type),
      ['Ready'],
    )
  })

  it('keeps its last word while it acts, and the generation that word was about', async () => {
    const fixture = aStore({})
    const script: Script = {}
    const reconcile = createReconcile(aController(script), fixture.world)
    await reconcile(KEY, 0)
    const before = fixture.ready()
    fixture.put({ ...fixture.widget(), metadata: { ...fixture.widget().metadata, generation: 2 } })
    script.decision = act({ do: 'start-run' })
    assert.deepEqual(await reconcile(KEY, 0), { again: 'now', result: 'requeue' })
    assert.deepEqual(fixture.ready(), before)
  })

  it('says Progressing when it acts for the first time', async () => {
    const fixture = aStore({})
    await createReconcile(aController({ decision: act({ do: 'add-finalizer' }) }), fixture.world)(KEY, 0)
    assert.partialDeepStrictEqual(fixture.ready(), { status: 'False', reason: 'Progressing' })
    assert.deepEqual(fixture.events, [])
  })

  it('compares with what its own actions made of the object, not with what it saw before', async () => {
    const fixture = aStore({})
    const script: Script = {
      decision: act({ do: 'add-finalizer' }),
      act: async ({ objects }) => {
        await objects.patch(WidgetKind, KEY, { type: 'merge', body: { metadata: { finalizers: ['x'] } } })
      },
    }
    await createReconcile(aController(script), fixture.world)(KEY, 0)
    assert.equal(fixture.ready()?.reason, 'Progressing')
  })

  it('shows what was thrown, writes the rest of the status all the same, and backs off', async () => {
    const fixture = aStore({})
    const script: Script = {
      decision: act({ do: 'burn' }),
      report: { fields: { phase: 'Burning' } },
      act: async () => {
        throw new Error('cannot reach https://me:hunter2@host')
      },
    }
    const end = await createReconcile(aController(script), fixture.world)(KEY, 0)
    assert.deepEqual(end, { again: 'backoff', result: 'error', failed: ['internal'] })
    assert.partialDeepStrictEqual(fixture.ready(), { status: 'False', reason: 'InternalError' })
    assert.equal(fixture.widget().status?.['phase'], 'Burning')
    assert.equal(fixture.events.length, 1)
    const said = JSON.stringify([fixture.events, fixture.conditions(), fixture.log.lines])
    assert.ok(!said.includes('hunter2'), 'the password got out')
    assert.partialDeepStrictEqual(
      fixture.log.lines.find((line) => line.level === 'error'),
      { message: 'Reconcile failed', keys: { Widget: 'default/w', controller: 'widget' } },
    )
  })

  for (const [what, script] of [
    ['observing', { observe: () => Promise.reject(new Error('boom')) }],
    [
      'reporting',
      {
        get report(): StatusReport {
          throw new Error('boom')
        },
      },
    ],
  ] as const) {
    it(`shows what was thrown while ${what}`, async () => {
      const fixture = aStore({})
      assert.equal((await createReconcile(aController(script), fixture.world)(KEY, 0)).result, 'error')
      assert.partialDeepStrictEqual(fixture.ready(), { reason: 'InternalError', message: 'boom' })
    })
  }

  it('does not frighten anybody about a busy API server until it stays busy', async () => {
    const fixture = aStore({})
    const script: Script = {}
    const reconcile = createReconcile(aController(script), fixture.world)
    await reconcile(KEY, 0)
    script.observe = () => Promise.reject(new KubeError('TooManyRequests', 'slow down'))
    assert.equal((await reconcile(KEY, 0)).again, 'backoff')
    assert.equal(fixture.ready()?.status, 'True')
    await reconcile(KEY, 10)
    assert.partialDeepStrictEqual(fixture.ready(), { status: 'False', reason: 'InternalError' })
  })

  describe('that fails leaves a Warning', () => {
    const ofCluster = { labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } }
    const ClusterKind: KindRef = {
      group: 'cluster.x-k8s.io',
      version: 'v1beta2',
      kind: 'Cluster',
      plural: 'clusters',
      namespaced: true,
    }
    const aCluster = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { name: 'demo', uid: 'c1' } }

    function openReconcile(script: Script, metadata: object = ofCluster) {
      const fixture = aStore({ metadata: { ...KEY, ...metadata } })
      const warnings: string[] = []
      const cache: Cache = {
        get: ((kind: KindRef, key: Key) =>
          kind.kind === 'Cluster' ? aCluster : fixture.world.cache.get(kind, key)) as Cache['get'],
        list: () => [],
        keys: () => [],
        summaries: () => [],
      }
      const events: Events = {
        emit: (about, { type, reason, message }) =>
          warnings.push(
            `${type} ${reason} on ${about.kind} ${about.metadata.name} (${about.metadata.uid}): ${message}`,
          ),
      }
      const world = { ...fixture.world, cache, events: warnCluster(events, cache, ClusterKind) }
      const reconcile = createReconcile(aController(script), world)
      return { fixture, reconcile, warnings }
    }

    it('on the object and on its Cluster for every attempt that its controller reports', async () => {
      const failed = [
        { class: 'throttling', reason: 'RetryScheduled', message: 'Rate exceeded', hint: 'it waits longer' },
      ]
      const script: Script = {
        decision: waiting('RetryScheduled', 'Attempt 1 failed and is tried again: Rate exceeded', 30),
        report: { fields: { run: 1 }, failed },
      }
      const { reconcile, warnings } = openReconcile(script)
      assert.deepEqual((await reconcile(KEY, 0)).failed, ['throttling'])
      assert.deepEqual(warnings, [
        'Warning RetryScheduled on Widget w (u1): Rate exceeded. it waits longer',
        'Warning RetryScheduled on Cluster demo (c1): Widget w: Rate exceeded. it waits longer',
      ])
      script.report = { fields: { run: 1 } }
      assert.equal((await reconcile(KEY, 0)).failed, undefined)
      assert.equal(warnings.length, 2, 'the same attempt is reported once')
    })

    it('every time it throws, also when the status says so already', async () => {
      const { reconcile, warnings, fixture } = openReconcile({ observe: () => Promise.reject(new Error('boom')) })
      await reconcile(KEY, 0)
      await reconcile(KEY, 1)
      assert.equal(fixture.writes.length, 1)
      assert.deepEqual(
        warnings,
        [1, 2].flatMap(() => [
          'Warning InternalError on Widget w (u1): boom',
          'Warning InternalError on Cluster demo (c1): Widget w: boom',
        ]),
      )
    })

    it('when it stops, by owner reference where there is no label', async () => {
      const ownerReferences = [{ apiVersion: aCluster.apiVersion, kind: 'Cluster', name: 'demo', uid: 'c2' }]
      const { reconcile, warnings } = openReconcile({ decision: stalled('Refused', 'No.', 'Ask') }, { ownerReferences })
      await reconcile(KEY, 0)
      await reconcile(KEY, 0)
      assert.deepEqual(warnings, [
        'Warning Refused on Widget w (u1): No. Ask',
        'Warning Refused on Cluster demo (c2): Widget w: No. Ask',
      ])
    })

    it('whose remedy is whole, however long the cause is', async () => {
      const script: Script = { decision: stalled('Refused', 'é'.repeat(2000), 'do this, and then that') }
      const { reconcile, warnings } = openReconcile(script)
      await reconcile(KEY, 0)
      assert.match(warnings[1]!, /é…\. do this, and then that$/)
      assert.ok(Buffer.byteLength(warnings[1]!) < 1024)
    })

    it('on the object alone when it belongs to no Cluster', async () => {
      const { reconcile, warnings } = openReconcile({ decision: stalled('Refused', 'No', 'Ask') }, {})
      await reconcile(KEY, 0)
      assert.deepEqual(warnings, ['Warning Refused on Widget w (u1): No. Ask'])
    })
  })

  it('retries without a report when another writer was faster', async () => {
    const fixture = aStore({})
    fixture.refuse(new KubeError('Conflict', 'moved on'))
    const end = await createReconcile(aController({}), fixture.world)(KEY, 0)
    assert.deepEqual(end, { again: 'backoff', result: 'requeue' })
    assert.deepEqual(
      fixture.log.lines.filter((line) => line.level === 'error'),
      [],
    )
    assert.deepEqual(fixture.events, [])
  })

  it('ignores an object that was deleted before or during its reconcile', async () => {
    const fixture = aStore()
    const reconcile = createReconcile(aController({}), fixture.world)
    assert.equal((await reconcile(KEY, 0)).again, 'never')
    fixture.put({})
    fixture.refuse(new KubeError('NotFound', 'gone'))
    assert.deepEqual(await reconcile(KEY, 0), { again: 'never', result: 'success' })
    assert.deepEqual(fixture.log.lines.filter((line) => line.level === 'error').length, 0)
  })

  it('does not write the status of an object whose last finalizer is gone', async () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    const fixture = aStore({ metadata: { ...KEY, deletionTimestamp, finalizers: ['x'] } })
    const script: Script = {
      decision: act({ do: 'remove-finalizer' }),
      act: async ({ objects }) => {
        await objects.patch(WidgetKind, KEY, { type: 'merge', body: { metadata: { finalizers: [] } } })
      },
    }
    assert.equal((await createReconcile(aController(script), fixture.world)(KEY, 0)).again, 'never')
    assert.equal(fixture.writes.length, 1)
  })

  it('removes fields that are no longer reported, also inside other fields', async () => {
    const fixture = aStore({ status: { run: { phase: 'running', step: '3 of 9' }, error: 'old', kept: 1 } })
    const script: Script = { report: { fields: { run: { phase: 'succeeded' }, error: undefined } } }
    await createReconcile(aController(script), fixture.world)(KEY, 0)
    const { conditions: _, ...rest } = fixture.widget().status!
    assert.deepEqual(rest, { run: { phase: 'succeeded' }, kept: 1 })
  })

  it('lets steps set their own conditions, but never the summary', async () => {
    const fixture = aStore({})
    const script: Script = {
      decision: waiting('NotYet', 'Not yet'),
      report: {
        conditions: [
          { type: 'VPCReady', status: 'True', reason: 'Applied', message: '' },
          { type: 'Ready', status: 'True', reason: 'Lie', message: '' },
        ],
      },
    }
    await createReconcile(aController(script), fixture.world)(KEY, 0)
    assert.deepEqual(
      fixture.conditions().map(({ type, status }) => `${type}=${status}`),
      ['Ready=False', 'VPCReady=True'],
    )
  })

  it('leaves the status of foreign kinds alone when summary is false', async () => {
    const fixture = aStore({})
    const script: Script = { summary: false }
    const reconcile = createReconcile(aController(script), fixture.world)
    await reconcile(KEY, 0)
    assert.deepEqual(fixture.writes, [])
    script.report = { fields: { phase: 'Active' } }
    await reconcile(KEY, 0)
    assert.deepEqual(fixture.widget().status, { phase: 'Active' })
  })

  it('uses another summary condition when asked to', async () => {
    const fixture = aStore({})
    await createReconcile(aController({ summary: 'Available' }), fixture.world)(KEY, 0)
    assert.deepEqual(
      fixture.conditions().map((condition) => condition.type),
      ['Available'],
    )
  })

  it('slows down an object that acts again and again on the same observation', async () => {
    const fixture = aStore({})
    const reconcile = createReconcile(aController({ decision: act({ do: 'spin' }) }), fixture.world)
    const answers: unknown[] = []
    for (let i = 0; i < 7; i++) answers.push((await reconcile(KEY, 0)).again)
    assert.deepEqual(answers, ['now', 'now', 'now', 'now', 'now', 'backoff', 'backoff'])
    assert.ok(fixture.log.lines.some((line) => line.message === 'Acting without progress'))
  })

  it('slows down an object that acts for ever, even if it looks different each time', async () => {
    const fixture = aStore({})
    let count = 0
    const script: Script = { decision: act({ do: 'spin' }), observe: async () => count++ }
    const reconcile = createReconcile(aController(script), fixture.world)
    let slowed = 0
    for (let i = 0; i < 60; i++) if ((await reconcile(KEY, 0)).again === 'backoff') slowed++
    assert.equal(slowed, 10)
  })

  it('does not slow down an object that makes progress', async () => {
    const fixture = aStore({})
    let count = 0
    const script: Script = { decision: act({ do: 'step' }), observe: async () => Math.floor(count++ / 3) }
    const reconcile = createReconcile(aController(script), fixture.world)
    for (let i = 0; i < 30; i++) assert.equal((await reconcile(KEY, 0)).again, 'now')
  })

  it('looks again at something that is done only for a while', async () => {
    const fixture = aStore({})
    const end = await createReconcile(aController({ decision: doneFor(480) }), fixture.world)(KEY, 0)
    assert.deepEqual(end.again, { afterMs: 480_000 })
    assert.equal(fixture.ready()?.status, 'True')
  })

  it('leaves alone what the watch filter does not accept', async () => {
    const fixture = aStore({})
    await createReconcile(aController({}), fixture.world, { accepts: () => false })(KEY, 0)
    assert.deepEqual(fixture.writes, [])
  })

  it('gives every reconcile its own id in the log', async () => {
    const fixture = aStore({})
    const reconcile = createReconcile(aController({}), fixture.world)
    await reconcile(KEY, 0)
    await reconcile(KEY, 0)
    const ids = new Set(fixture.log.lines.map((line) => line.keys['reconcileID']))
    assert.equal(ids.size, 2)
    assert.ok(!ids.has(undefined))
  })
})
