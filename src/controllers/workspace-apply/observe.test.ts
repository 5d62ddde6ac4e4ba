// What one apply knows about the others, the Cluster it belongs to, and the template it uses.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AnyObject,
  APPLY_FINALIZER,
  clusterKind,
  type Secret,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { createSimulatedEngine, type Run, type RunRecord } from '#engine'
import { silentLog } from '#lib'
import { type AnyController, createReconcile } from '#runtime'
import { anApply, aTemplate, manualClock, memoryCluster } from '#testing'
import { decide as decideTemplate, workspaceTemplateController } from '../workspace-template/index.ts'
import { decide } from './decide.ts'
import { cycleOf, dependentsOf, unreadyOf, usersOfTemplate } from './dependencies.ts'
import { workspaceApplyController } from './index.ts'
import { dueIn, observeApply, reportedResources } from './observe.ts'
import { slotOf } from './rollout.ts'

const Cluster = clusterKind('v1beta2')
const READY = { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: '' } as const

function open(
  objects: readonly (readonly [typeof WorkspaceTemplateApply | typeof WorkspaceTemplate | typeof Cluster, AnyObject])[],
) {
  const cluster = memoryCluster()
  const clock = manualClock()
  const engine = createSimulatedEngine({ objects: cluster.objects, clock, log: silentLog })
  const controllers = [workspaceApplyController({ engine, clusterKind: Cluster }), workspaceTemplateController()]
  for (const { kind, wakes, indexes = [] } of controllers) {
    for (const one of [kind, ...wakes.map((wake) => wake.kind)]) cluster.informers.register(one)
    for (const index of indexes) cluster.informers.register(index.kind, { indexes: { [index.name]: index.values } })
  }
  for (const [kind, object] of objects) cluster.seed(kind, object)
  cluster.informers.start()
  const events = { emit: () => undefined }
  const world = { objects: cluster.objects, cache: cluster.informers, events, clock, log: silentLog }
  const find = (name: string) =>
    cluster.informers.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace: 'default', name })!
  return {
    ...cluster,
    world,
    find,
    engine,
    controllers,
    observe: (name: string) => observeApply(world, find(name), { engine, clusterKind: Cluster }),
  }
}
const apply = (name: string, waits: readonly string[] = [], over: Partial<WorkspaceTemplateApply> = {}) =>
  [
    WorkspaceTemplateApply,
    { ...anApply({ waitForWorkspaces: waits.map((one) => ({ name: one })) }, { name }), ...over },
  ] as const

describe('applies that wait for each other', () => {
  it('are ready, not ready, or missing', () => {
    const { world, find } = open([
      apply('a', ['b', 'c', 'd']),
      apply('b', [], { status: { conditions: [READY] } }),
      apply('c'),
    ])
    assert.deepEqual(unreadyOf(world.cache, find('a')), ['default/c', 'default/d'])
  })

  it('in a cycle report the whole cycle', () => {
    const { world, find } = open([apply('a', ['b']), apply('b', ['c']), apply('c', ['a']), apply('d', ['a'])])
    assert.deepEqual(cycleOf(world.cache, find('a')), ['default/a', 'default/b', 'default/c', 'default/a'])
    assert.equal(cycleOf(world.cache, find('d')), undefined)
  })

  it('are destroyed in the opposite order, and a circle holds nobody back', () => {
    const { world, find } = open([apply('vpc'), apply('eks', ['vpc']), apply('a', ['b']), apply('b', ['a'])])
    assert.deepEqual(dependentsOf(world.cache, find('vpc')), ['default/eks'])
    assert.deepEqual(dependentsOf(world.cache, find('eks')), [])
    assert.deepEqual(dependentsOf(world.cache, find('a')), [])
  })
})

describe('applies of two namespaces', () => {
  const consent = (names: string) => ({ annotations: { 'capt.appthrust.com/allow-namespaces': names } })
  const at = (namespace: string, name: string, waits: readonly object[], metadata: object = {}, status = {}) =>
    [
      WorkspaceTemplateApply,
      {
        ...anApply({ waitForWorkspaces: waits as never, templateRef: { namespace: 'default', name: 'demo' } }),
        metadata: { name, namespace, uid: `${namespace}/${name}`, ...metadata },
        status,
      } as WorkspaceTemplateApply,
    ] as const
  const DONE = { conditions: [READY] }
  const rows = [
    { consent: undefined, dependents: [], unready: ['default/vpc'], users: 0 },
    { consent: 'other', dependents: [], unready: ['default/vpc'], users: 0 },
    { consent: 'other, tenant', dependents: ['tenant/eks'], unready: [], users: 1 },
    { consent: '*', dependents: ['tenant/eks'], unready: [], users: 1 },
  ]
  for (const row of rows)
    it(`count for each other only with consent: ${row.consent ?? 'none'}`, () => {
      const metadata = row.consent === undefined ? {} : consent(row.consent)
      const { world, find } = open([
        at('default', 'vpc', [], metadata, DONE),
        at('tenant', 'eks', [{ namespace: 'default', name: 'vpc' }]),
      ])
      const eks = world.cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace: 'tenant', name: 'eks' })!
      assert.deepEqual(dependentsOf(world.cache, find('vpc')), row.dependents)
      assert.deepEqual(unreadyOf(world.cache, eks), row.unready)
      const template = { ...aTemplate(), metadata: { name: 'demo', namespace: 'default', ...metadata } }
      const users = usersOfTemplate(world.cache, template).filter((user) => user.namespace === 'tenant')
      assert.equal(users.length, row.users)
    })

  it('in a circle without consent are no circle', () => {
    const { world, find } = open([
      at('default', 'vpc', [{ namespace: 'tenant', name: 'eks' }]),
      at('tenant', 'eks', [{ namespace: 'default', name: 'vpc' }], consent('default')),
    ])
    assert.equal(cycleOf(world.cache, find('vpc')), undefined)
  })
})

describe('a manager that serves one namespace', () => {
  const at = (namespace: string, name: string, creationTimestamp: string) =>
    [
      WorkspaceTemplateApply,
      { ...anApply(), metadata: { namespace, name, uid: name, creationTimestamp, finalizers: [APPLY_FINALIZER] } },
    ] as const
  const template = [WorkspaceTemplate, aTemplate()] as const
  const everywhere = { ...aTemplate(), metadata: { namespace: 'tenant', name: 'demo' } }

  it('runs the oldest one, refuses a second by a condition, and destroys for everybody', async () => {
    const { world, engine } = open([
      template,
      [WorkspaceTemplate, everywhere],
      at('default', 'first', '2026-01-01T00:00:00Z'),
      at('default', 'third', '2026-01-03T00:00:00Z'),
      at('tenant', 'second', '2026-01-02T00:00:00Z'),
    ])
    const observed = (namespace: string, name: string, singleTenant = true) =>
      observeApply(world, world.cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })!, {
        engine,
        clusterKind: Cluster,
        singleTenant,
      })
    assert.equal((await observed('default', 'third')).otherTenant, undefined)
    const refused = await observed('tenant', 'second')
    assert.equal(refused.otherTenant, 'default')
    const decision = decide(refused)
    assert.ok(decision.is === 'stalled' && decision.reason === 'SharedRunnerRefused', JSON.stringify(decision))
    assert.equal(decide(await observed('tenant', 'second', false)).is, 'act')
    const { metadata } = refused.apply
    const deleted = { ...refused, apply: { ...refused.apply, metadata: { ...metadata, deletionTimestamp: 'now' } } }
    assert.equal(decide(deleted as never).is, 'act', 'deletion goes on')
  })
})

describe('a change of a template', () => {
  const template = { ...aTemplate(), metadata: { name: 'demo', namespace: 'default', generation: 2 } }
  const old = (name: string, at: string, generation = 1) =>
    apply(name, [], {
      metadata: { name, namespace: 'default', creationTimestamp: at, generation: 1 },
      status: { appliedHash: 'h', templateGeneration: generation, conditions: [{ ...READY, observedGeneration: 1 }] },
    })
  const fleet = ['a', 'b', 'c', 'd', 'e'].map((name, i) => old(name, `2026-01-0${i + 1}T00:00:00Z`))

  it('reaches the oldest applies first, a few at a time', () => {
    const { world, find } = open(fleet)
    assert.deepEqual(
      ['a', 'b', 'c', 'd', 'e'].map((name) => slotOf(world.cache, find(name), template).is),
      ['now', 'now', 'now', 'later', 'later'],
    )
  })

  it('goes on when one of them has it', () => {
    const { world, find } = open([old('a', '2026-01-01T00:00:00Z', 2), ...fleet.slice(1)])
    assert.equal(slotOf(world.cache, find('d'), template).is, 'now')
    assert.equal(slotOf(world.cache, find('e'), template).is, 'later')
  })

  it('can be stopped, and does not hold up who is new or changed by hand', () => {
    const stopped = {
      ...template,
      metadata: { ...template.metadata, annotations: { 'capt.appthrust.com/rollout': 'paused' } },
    }
    const { world, find } = open([...fleet, apply('new')])
    assert.equal(slotOf(world.cache, find('a'), stopped).is, 'stopped')
    assert.equal(slotOf(world.cache, find('new'), stopped).is, 'now')
    const changed = { ...find('e'), metadata: { ...find('e').metadata, generation: 2 } }
    assert.equal(slotOf(world.cache, changed as never, template).is, 'now')
  })
})

describe('a template', () => {
  const held = {
    ...aTemplate(),
    metadata: { name: 'demo', finalizers: ['workspacetemplate.v2.infrastructure.cluster.x-k8s.io'] },
  }
  const going = { ...held, metadata: { ...held.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }

  it('is held only while something uses it', () => {
    const users = [{ name: 'a' }]
    assert.deepEqual(decideTemplate({ template: aTemplate(), users: [], updating: 0 }), { is: 'done' })
    assert.partialDeepStrictEqual(decideTemplate({ template: aTemplate(), users, updating: 0 }), {
      actions: [{ do: 'add-finalizer' }],
    })
    assert.partialDeepStrictEqual(decideTemplate({ template: going, users, updating: 0 }), {
      is: 'waiting',
      reason: 'InUse',
      message:
        'These applies use it: a. Let them, or the clusters they belong to, name another template, or delete them',
    })
    assert.partialDeepStrictEqual(decideTemplate({ template: going, users: [], updating: 0 }), {
      actions: [{ do: 'remove-finalizer' }],
    })
  })
})

describe('an apply of a Cluster', () => {
  const labels = { 'cluster.x-k8s.io/cluster-name': 'demo' }
  const cluster = (paused: boolean) =>
    [
      Cluster,
      {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name: 'demo', namespace: 'default' },
        spec: { paused },
      } as AnyObject,
    ] as const
  const labelled = apply('demo', [], { metadata: { name: 'demo', namespace: 'default', labels } })

  it('is paused with it', async () => {
    assert.match((await open([labelled, cluster(true)]).observe('demo')).paused ?? '', /Cluster spec.paused/)
    assert.equal((await open([labelled, cluster(false)]).observe('demo')).paused, undefined)
  })

  it('holds a move back from before its run until after its end was reported', async () => {
    const { controllers, world, peek, find, engine } = open([
      labelled,
      cluster(false),
      [WorkspaceTemplate, { ...aTemplate(), metadata: { name: 'demo', namespace: 'default', generation: 1 } }],
    ])
    const turn = createReconcile(controllers[0] as unknown as AnyController, world)
    const key = { namespace: 'default', name: 'demo' }
    const blocked = () =>
      'clusterctl.cluster.x-k8s.io/block-move' in
      (peek<AnyObject>(WorkspaceTemplateApply, key)?.metadata.annotations ?? {})
    await turn(key, 0)
    assert.ok(!blocked(), 'first it only holds itself')
    await turn(key, 0)
    assert.ok(blocked())
    const hold = setInterval(() => undefined, 1000)
    while ((await engine.observe(key)).activity === 'running') await new Promise((resolve) => setTimeout(resolve, 2))
    clearInterval(hold)
    await turn(key, 0)
    assert.equal(find('demo').status?.phase, 'Applied')
    assert.ok(blocked())
    await turn(key, 0)
    assert.ok(!blocked())
  })

  it('says nothing about Secrets of others that have not agreed', async () => {
    const { observe, objects } = open([
      [
        WorkspaceTemplateApply,
        anApply({ waitForSecrets: [{ name: 's', namespace: 'other' }, { name: 'own' }] }, { name: 'demo' }),
      ],
      [WorkspaceTemplate, aTemplate()],
    ])
    const secret = (namespace: string, name: string): Secret => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name },
    })
    await objects.create(SecretKind, secret('other', 's'))
    await objects.create(SecretKind, secret('default', 'own'))
    assert.deepEqual((await observe('demo')).missingSecrets, ['other/s'])
  })
})

describe('credentials that come from no Secret', () => {
  const REJECTED = {
    kind: 'credentials',
    code: 'CAPT_TF_ACCESS_DENIED',
    message: 'AccessDenied',
    hint: 'allow it',
  } as const
  const aRun = (verb: 'apply' | 'destroy', over: Partial<Run>): RunRecord => ({
    version: 1,
    workspaceId: 'id',
    suspects: [],
    kept: [],
    backups: [],
    history: [],
    run: {
      id: 'run-1',
      verb,
      hash: 'h',
      attempt: 1,
      phase: 'Failed',
      startedAt: '2025-12-31T23:59:00Z',
      finishedAt: '2026-01-01T00:00:00Z',
      holder: { pid: 1, start: '1', host: 'here', machine: '', boot: '', space: '' },
      resumed: 0,
      folder: '',
      timeoutSeconds: 60,
      fault: REJECTED,
      ...over,
    },
  })
  const look = async (record: RunRecord, spec: Parameters<typeof anApply>[0] = {}) => {
    const { world, find, engine } = open([
      [WorkspaceTemplateApply, anApply(spec, { name: 'a' })],
      [WorkspaceTemplate, aTemplate()],
    ])
    const view = { record, activity: 'idle', cancelling: false } as const
    return observeApply(world, find('a'), { engine: { ...engine, observe: async () => view }, clusterKind: Cluster })
  }

  for (const verb of ['apply', 'destroy'] as const)
    it(`count as unchanged after a failed ${verb}, so that its backoff holds`, async () => {
      const observed = await look(aRun(verb, {}))
      assert.deepEqual([observed.credentialsChanged, observed.dueInSeconds], [false, 30])
      assert.equal((await look(aRun(verb, { attempt: 3 }))).dueInSeconds, 120)
    })

  it('that were refused leave a hint whose commands name the apply', async () => {
    const fault = { ...REJECTED, hint: 'allow the action, then: capt retry' }
    const { view } = await look(aRun('apply', { fault }))
    assert.equal(view.record?.run?.fault?.hint, 'allow the action, then: capt retry a')
  })

  it('are replaced when a destroy gets a Secret of its own; from then on that Secret is compared', async () => {
    const spec = { credentialsRef: { name: 'aws' } }
    assert.equal((await look(aRun('destroy', { attempt: 5 }), spec)).credentialsChanged, true)
    assert.equal((await look(aRun('destroy', { attempt: 5 }), spec)).dueInSeconds, 30, 'the backoff begins again')
    const used = { credentialRefs: ['default/aws'], credentials: 'another version' }
    assert.equal((await look(aRun('destroy', used), spec)).credentialsChanged, true)
  })
})

describe('the status of an apply whose record is lost speaks of', () => {
  const plan = { add: 5, change: 1, destroy: 1, replace: 2 }
  const run = { id: 'r', verb: 'apply', phase: 'Apply', attempt: 1, startedAt: '2026-01-01T00:00:00Z' } as const
  const state = { serial: 1, lineage: 'l', resources: 3 }
  const rows: readonly (readonly [string, WorkspaceTemplateApply['status'], number])[] = [
    ['nothing before its first run', undefined, 0],
    ['the resources of the saved state', { state }, 3],
    ['what a run that is under way makes', { run, plan }, 7],
    ['the larger of both', { run, plan: { ...plan, add: 0 }, state }, 3],
    ['nothing that is yet to be planned', { run: { ...run, phase: 'Init' } }, 0],
    [
      'nothing that a run has made which ended: that is in its state',
      { run: { ...run, finishedAt: 'x' }, plan, state },
      3,
    ],
    ['nothing that a destroy makes', { run: { ...run, verb: 'destroy' }, plan, state }, 3],
    ['nothing after a destroy that succeeded', { run: { ...run, verb: 'destroy', phase: 'Succeeded' }, state }, 0],
  ]
  for (const [what, status, expected] of rows) it(what, () => assert.equal(reportedResources({ status }), expected))
})

describe('the next attempt', () => {
  const nowMs = Date.parse('2026-01-01T12:00:00Z')
  const fault = { kind: 'unknown', code: 'CAPT_X', message: 'm', hint: 'h' } as const
  const failedAt = (secondsAgo: number) => {
    const finishedAt = new Date(nowMs - secondsAgo * 1000).toISOString()
    return { run: { verb: 'apply', attempt: 1, startedAt: finishedAt, finishedAt, fault } } as unknown as RunRecord
  }
  for (const [what, secondsAgo, due] of [
    ['waits for the backoff', 0, 30],
    ['waits for the rest of the backoff', 10, 20],
    ['is due an hour later', 3600, -3570],
    ['is due when the failure was written down by a clock that is an hour ahead', -3600, 0],
  ] as const)
    it(what, () => {
      const seconds = dueIn(failedAt(secondsAgo), false, nowMs, () => 30)
      assert.equal(seconds, due)
    })
})
