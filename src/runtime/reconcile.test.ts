import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, type Condition, type Key, type KindRef, keyText } from '#api'
import { type Cache, type Events, KubeError, type Objects, type Patch, type WriteOptions } from '#kube'
import { isPlainObject } from '#lib'
import { collectingLog, handWoundClock } from '#testing'
import { warnCluster } from './cluster-events.ts'
import type { AnyController, Controller, StatusReport, World } from './controller.ts'
import { act, type Decision, done, doneFor, stalled, waiting, waitingAMoment } from './decision.ts'
import { createTurn } from './reconcile.ts'

interface Widget extends AnyObject {
  readonly spec?: { readonly size?: number }
  readonly status?: { readonly conditions?: readonly Condition[]; readonly [field: string]: unknown }
}
const WidgetKind: KindRef = { group: 'test', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
const KEY: Key = { namespace: 'default', name: 'w' }

/** One kind, no server: what a turn needs to know about objects, and every write it makes. */
function aShelf(...widgets: readonly Partial<Widget>[]) {
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
  }
  const clock = handWoundClock()
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
  reportsAtRest?: () => boolean
}
function aController(script: Script): AnyController {
  const controller: Controller<Widget, unknown, { do: string }> = {
    name: 'widget',
    kind: WidgetKind,
    wakes: [],
    ...(script.summary === undefined ? {} : { summary: script.summary }),
    ...(script.reportsAtRest === undefined ? {} : { reportsAtRest: script.reportsAtRest }),
    observe: async (_world, object) => (script.observe ? script.observe() : { size: object.spec?.size }),
    decide: () => script.decision ?? done,
    act: async (world) => script.act?.(world),
    status: () => script.report ?? {},
  }
  return controller
}

describe('one turn', () => {
  it('says Ready when the decision is done, with the generation it was about', async () => {
    const shelf = aShelf({ metadata: { ...KEY, generation: 7 } })
    const end = await createTurn(aController({}), shelf.world)(KEY, 0)
    assert.deepEqual(end, { again: 'never', result: 'success' })
    assert.deepEqual(shelf.ready(), {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 7,
    })
    assert.deepEqual(shelf.events, ['Normal Ready w: Widget w is ready'])
    assert.deepEqual(shelf.writes[0]?.options, { subresource: 'status' })
    assert.deepEqual(shelf.writes[0]?.body['metadata'], { resourceVersion: '1' })
  })

  it('writes nothing and tells nothing when nothing changed', async () => {
    const shelf = aShelf({})
    const script: Script = { decision: waiting('TemplateMissing', 'No template'), report: { fields: { a: { b: 1 } } } }
    const turn = createTurn(aController(script), shelf.world)
    await turn(KEY, 0)
    await shelf.clock.advance(60_000)
    await turn(KEY, 0)
    await turn(KEY, 0)
    assert.equal(shelf.writes.length, 1)
    assert.deepEqual(shelf.events, [])
  })

  it('leaves the status of a row of steps to the turn that comes to rest, unless something of it would be lost', async () => {
    const shelf = aShelf({ spec: { size: 1 } })
    let isLost = false
    const step: Script = {
      decision: act({ do: 'something' }),
      report: { fields: { step: 1 } },
      act: async () => shelf.put({ spec: { size: 2 } }),
      reportsAtRest: () => !isLost,
    }
    assert.equal((await createTurn(aController(step), shelf.world)(KEY, 0)).again, 'now')
    assert.deepEqual(shelf.writes, [])
    isLost = true
    await createTurn(aController(step), shelf.world)(KEY, 0)
    assert.equal(shelf.widget().status?.['step'], 1)
  })

  it('does not tell what is most likely over in a moment', async () => {
    const shelf = aShelf({})
    const end = await createTurn(aController({ decision: waitingAMoment('Soon', 'a moment', 5) }), shelf.world)(KEY, 0)
    assert.deepEqual([end.again, shelf.writes], [{ afterMs: 5000 }, []])
  })

  it('shows why it waits, and keeps the time while only the words change', async () => {
    const shelf = aShelf({})
    const script: Script = { decision: waiting('DependencyNotReady', 'Waiting for a') }
    const turn = createTurn(aController(script), shelf.world)
    await turn(KEY, 0)
    await shelf.clock.advance(60_000)
    script.decision = waiting('RunInProgress', 'Running', 30)
    assert.deepEqual(await turn(KEY, 0), { again: { afterMs: 30_000 }, result: 'requeue_after' })
    assert.partialDeepStrictEqual(shelf.ready(), {
      status: 'False',
      reason: 'RunInProgress',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })
    script.decision = done
    await turn(KEY, 0)
    assert.equal(shelf.ready()?.lastTransitionTime, '2026-01-01T00:01:00Z')
  })

  it('marks an object that needs a person, with the hint, once, and takes the mark away again', async () => {
    const shelf = aShelf({})
    const script: Script = { decision: stalled('ApplyRejected', 'AccessDenied.', 'Allow eks:CreateCluster') }
    const turn = createTurn(aController(script), shelf.world)
    await turn(KEY, 0)
    await turn(KEY, 0)
    const message = 'AccessDenied. Allow eks:CreateCluster'
    assert.partialDeepStrictEqual(shelf.conditions(), [
      { type: 'Ready', status: 'False', reason: 'ApplyRejected', message },
      { type: 'Stalled', status: 'True', reason: 'ApplyRejected', message },
    ])
    assert.deepEqual(shelf.events, [`Warning ApplyRejected w: ${message}`])
    script.decision = waiting('RunInProgress', 'Running')
    await turn(KEY, 0)
    assert.deepEqual(
      shelf.conditions().map((condition) => condition.type),
      ['Ready'],
    )
  })

  it('keeps its last word while it acts, and the generation that word was about', async () => {
    const shelf = aShelf({})
    const script: Script = {}
    const turn = createTurn(aController(script), shelf.world)
    await turn(KEY, 0)
    const before = shelf.ready()
    shelf.put({ ...shelf.widget(), metadata: { ...shelf.widget().metadata, generation: 2 } })
    script.decision = act({ do: 'start-run' })
    assert.deepEqual(await turn(KEY, 0), { again: 'now', result: 'requeue' })
    assert.deepEqual(shelf.ready(), before)
  })

  it('says Progressing when it acts for the first time', async () => {
    const shelf = aShelf({})
    await createTurn(aController({ decision: act({ do: 'add-finalizer' }) }), shelf.world)(KEY, 0)
    assert.partialDeepStrictEqual(shelf.ready(), { status: 'False', reason: 'Progressing' })
    assert.deepEqual(shelf.events, [])
  })

  it('compares with what its own actions made of the object, not with what it saw before', async () => {
    const shelf = aShelf({})
    const script: Script = {
      decision: act({ do: 'add-finalizer' }),
      act: async ({ objects }) => {
        await objects.patch(WidgetKind, KEY, { type: 'merge', body: { metadata: { finalizers: ['x'] } } })
      },
    }
    await createTurn(aController(script), shelf.world)(KEY, 0)
    assert.equal(shelf.ready()?.reason, 'Progressing')
  })

  it('shows what was thrown, writes the rest of the status all the same, and backs off', async () => {
    const shelf = aShelf({})
    const script: Script = {
      decision: act({ do: 'burn' }),
      report: { fields: { phase: 'Burning' } },
      act: async () => {
        throw new Error('cannot reach https://me:hunter2@host')
      },
    }
    const end = await createTurn(aController(script), shelf.world)(KEY, 0)
    assert.deepEqual(end, { again: 'backoff', result: 'error', failed: ['internal'] })
    assert.partialDeepStrictEqual(shelf.ready(), { status: 'False', reason: 'InternalError' })
    assert.equal(shelf.widget().status?.['phase'], 'Burning')
    assert.equal(shelf.events.length, 1)
    const said = JSON.stringify([shelf.events, shelf.conditions(), shelf.log.lines])
    assert.ok(!said.includes('hunter2'), 'the password got out')
    assert.partialDeepStrictEqual(
      shelf.log.lines.find((line) => line.level === 'error'),
      { message: 'Turn failed', keys: { Widget: 'default/w', controller: 'widget' } },
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
      const shelf = aShelf({})
      assert.equal((await createTurn(aController(script), shelf.world)(KEY, 0)).result, 'error')
      assert.partialDeepStrictEqual(shelf.ready(), { reason: 'InternalError', message: 'boom' })
    })
  }

  it('does not frighten anybody about a busy API server until it stays busy', async () => {
    const shelf = aShelf({})
    const script: Script = {}
    const turn = createTurn(aController(script), shelf.world)
    await turn(KEY, 0)
    script.observe = () => Promise.reject(new KubeError('TooManyRequests', 'slow down'))
    assert.equal((await turn(KEY, 0)).again, 'backoff')
    assert.equal(shelf.ready()?.status, 'True')
    await turn(KEY, 10)
    assert.partialDeepStrictEqual(shelf.ready(), { status: 'False', reason: 'InternalError' })
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

    function openTurn(script: Script, metadata: object = ofCluster) {
      const shelf = aShelf({ metadata: { ...KEY, ...metadata } })
      const warnings: string[] = []
      const cache: Cache = {
        get: ((kind: KindRef, key: Key) =>
          kind.kind === 'Cluster' ? aCluster : shelf.world.cache.get(kind, key)) as Cache['get'],
        list: () => [],
      }
      const events: Events = {
        emit: (about, { type, reason, message }) =>
          warnings.push(
            `${type} ${reason} on ${about.kind} ${about.metadata.name} (${about.metadata.uid}): ${message}`,
          ),
      }
      const world = { ...shelf.world, cache, events: warnCluster(events, cache, ClusterKind) }
      const turn = createTurn(aController(script), world)
      return { shelf, turn, warnings }
    }

    it('on the object and on its Cluster for every attempt that its controller reports', async () => {
      const failed = [
        { class: 'throttling', reason: 'RetryScheduled', message: 'Rate exceeded', hint: 'it waits longer' },
      ]
      const script: Script = {
        decision: waiting('RetryScheduled', 'Attempt 1 failed and is tried again: Rate exceeded', 30),
        report: { fields: { run: 1 }, failed },
      }
      const { turn, warnings } = openTurn(script)
      assert.deepEqual((await turn(KEY, 0)).failed, ['throttling'])
      assert.deepEqual(warnings, [
        'Warning RetryScheduled on Widget w (u1): Rate exceeded. it waits longer',
        'Warning RetryScheduled on Cluster demo (c1): Widget w: Rate exceeded. it waits longer',
      ])
      script.report = { fields: { run: 1 } }
      assert.equal((await turn(KEY, 0)).failed, undefined)
      assert.equal(warnings.length, 2, 'the same attempt is reported once')
    })

    it('every time it throws, also when the status says so already', async () => {
      const { turn, warnings, shelf } = openTurn({ observe: () => Promise.reject(new Error('boom')) })
      await turn(KEY, 0)
      await turn(KEY, 1)
      assert.equal(shelf.writes.length, 1)
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
      const { turn, warnings } = openTurn({ decision: stalled('Refused', 'No.', 'Ask') }, { ownerReferences })
      await turn(KEY, 0)
      await turn(KEY, 0)
      assert.deepEqual(warnings, [
        'Warning Refused on Widget w (u1): No. Ask',
        'Warning Refused on Cluster demo (c2): Widget w: No. Ask',
      ])
    })

    it('whose remedy is whole, however long the cause is', async () => {
      const script: Script = { decision: stalled('Refused', 'é'.repeat(2000), 'do this, and then that') }
      const { turn, warnings } = openTurn(script)
      await turn(KEY, 0)
      assert.match(warnings[1]!, /é…\. do this, and then that$/)
      assert.ok(Buffer.byteLength(warnings[1]!) < 1024)
    })

    it('on the object alone when it belongs to no Cluster', async () => {
      const { turn, warnings } = openTurn({ decision: stalled('Refused', 'No', 'Ask') }, {})
      await turn(KEY, 0)
      assert.deepEqual(warnings, ['Warning Refused on Widget w (u1): No. Ask'])
    })
  })

  it('comes back in silence when somebody else was faster', async () => {
    const shelf = aShelf({})
    shelf.refuse(new KubeError('Conflict', 'moved on'))
    const end = await createTurn(aController({}), shelf.world)(KEY, 0)
    assert.deepEqual(end, { again: 'backoff', result: 'requeue' })
    assert.deepEqual(
      shelf.log.lines.filter((line) => line.level === 'error'),
      [],
    )
    assert.deepEqual(shelf.events, [])
  })

  it('forgets an object that went away before or during its turn', async () => {
    const shelf = aShelf()
    const turn = createTurn(aController({}), shelf.world)
    assert.equal((await turn(KEY, 0)).again, 'never')
    shelf.put({})
    shelf.refuse(new KubeError('NotFound', 'gone'))
    assert.deepEqual(await turn(KEY, 0), { again: 'never', result: 'success' })
    assert.deepEqual(shelf.log.lines.filter((line) => line.level === 'error').length, 0)
  })

  it('does not write a status nobody will read: the last finalizer is gone', async () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    const shelf = aShelf({ metadata: { ...KEY, deletionTimestamp, finalizers: ['x'] } })
    const script: Script = {
      decision: act({ do: 'remove-finalizer' }),
      act: async ({ objects }) => {
        await objects.patch(WidgetKind, KEY, { type: 'merge', body: { metadata: { finalizers: [] } } })
      },
    }
    assert.equal((await createTurn(aController(script), shelf.world)(KEY, 0)).again, 'never')
    assert.equal(shelf.writes.length, 1)
  })

  it('removes fields that are no longer reported, also inside other fields', async () => {
    const shelf = aShelf({ status: { run: { phase: 'running', step: '3 of 9' }, error: 'old', kept: 1 } })
    const script: Script = { report: { fields: { run: { phase: 'succeeded' }, error: undefined } } }
    await createTurn(aController(script), shelf.world)(KEY, 0)
    const { conditions: _, ...rest } = shelf.widget().status!
    assert.deepEqual(rest, { run: { phase: 'succeeded' }, kept: 1 })
  })

  it('lets steps set their own conditions, but never the summary', async () => {
    const shelf = aShelf({})
    const script: Script = {
      decision: waiting('NotYet', 'Not yet'),
      report: {
        conditions: [
          { type: 'VPCReady', status: 'True', reason: 'Applied', message: '' },
          { type: 'Ready', status: 'True', reason: 'Lie', message: '' },
        ],
      },
    }
    await createTurn(aController(script), shelf.world)(KEY, 0)
    assert.deepEqual(
      shelf.conditions().map(({ type, status }) => `${type}=${status}`),
      ['Ready=False', 'VPCReady=True'],
    )
  })

  it('leaves the status of foreign kinds alone when told so', async () => {
    const shelf = aShelf({})
    const script: Script = { summary: false }
    const turn = createTurn(aController(script), shelf.world)
    await turn(KEY, 0)
    assert.deepEqual(shelf.writes, [])
    script.report = { fields: { phase: 'Active' } }
    await turn(KEY, 0)
    assert.deepEqual(shelf.widget().status, { phase: 'Active' })
  })

  it('sums up under another name when told so', async () => {
    const shelf = aShelf({})
    await createTurn(aController({ summary: 'Available' }), shelf.world)(KEY, 0)
    assert.deepEqual(
      shelf.conditions().map((condition) => condition.type),
      ['Available'],
    )
  })

  it('slows down an object that acts again and again on the same observation', async () => {
    const shelf = aShelf({})
    const turn = createTurn(aController({ decision: act({ do: 'spin' }) }), shelf.world)
    const answers: unknown[] = []
    for (let i = 0; i < 7; i++) answers.push((await turn(KEY, 0)).again)
    assert.deepEqual(answers, ['now', 'now', 'now', 'now', 'now', 'backoff', 'backoff'])
    assert.ok(shelf.log.lines.some((line) => line.message === 'Acting without progress'))
  })

  it('slows down an object that acts for ever, even if it looks different each time', async () => {
    const shelf = aShelf({})
    let count = 0
    const script: Script = { decision: act({ do: 'spin' }), observe: async () => count++ }
    const turn = createTurn(aController(script), shelf.world)
    let slowed = 0
    for (let i = 0; i < 60; i++) if ((await turn(KEY, 0)).again === 'backoff') slowed++
    assert.equal(slowed, 10)
  })

  it('does not slow down an object that makes progress', async () => {
    const shelf = aShelf({})
    let count = 0
    const script: Script = { decision: act({ do: 'step' }), observe: async () => Math.floor(count++ / 3) }
    const turn = createTurn(aController(script), shelf.world)
    for (let i = 0; i < 30; i++) assert.equal((await turn(KEY, 0)).again, 'now')
  })

  it('looks again at something that is done only for a while', async () => {
    const shelf = aShelf({})
    const end = await createTurn(aController({ decision: doneFor(480) }), shelf.world)(KEY, 0)
    assert.deepEqual(end.again, { afterMs: 480_000 })
    assert.equal(shelf.ready()?.status, 'True')
  })

  it('leaves alone what the watch filter does not accept', async () => {
    const shelf = aShelf({})
    await createTurn(aController({}), shelf.world, { accepts: () => false })(KEY, 0)
    assert.deepEqual(shelf.writes, [])
  })

  it('gives every turn its own id in the log', async () => {
    const shelf = aShelf({})
    const turn = createTurn(aController({}), shelf.world)
    await turn(KEY, 0)
    await turn(KEY, 0)
    const ids = new Set(shelf.log.lines.map((line) => line.keys['reconcileID']))
    assert.equal(ids.size, 2)
    assert.ok(!ids.has(undefined))
  })
})
