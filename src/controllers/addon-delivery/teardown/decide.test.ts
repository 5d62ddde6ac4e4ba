import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { AddonStage } from '#api'
import { decideTeardown } from './decide.ts'
import type { ObservedTeardown, Step, Survey, Thing } from './observed.ts'
import { planRemoval, type RemovalOptions } from './steps.ts'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 0, 1)
const startedAt = new Date(START_MS).toISOString()

const stage = (name: string, over: object = {}): AddonStage =>
  ({ name, needs: [], uninstall: { policy: 'Delete', timeout: '10m' }, ...over }) as unknown as AddonStage
const karpenter = stage('karpenter', { karpenter: { namespace: 'kube-system' } })
const pool = stage('node-pool', { needs: ['karpenter'], nodePool: { name: 'default' } })
const flux = stage('flux', { flux: {} })
const removal = (over: Partial<RemovalOptions> = {}): RemovalOptions => ({
  withCluster: true,
  isClusterKept: false,
  nodesTimeoutMs: 15 * MINUTE_MS,
  ...over,
})
const names = (steps: readonly Step[]) => steps.map(({ name }) => name)
const allOf = (stages: readonly AddonStage[]) => new Set(stages.map(({ name }) => name))

describe('the steps of a teardown', () => {
  it('begin with load balancers and end with the cloud', () => {
    const stages = [flux, { ...karpenter, needs: ['flux'] }, pool]
    assert.deepEqual(names(planRemoval(stages, allOf(stages), removal())), [
      'cluster/load-balancers',
      'node-pool/node-pools',
      'node-pool/node-claims',
      'node-pool/node-classes',
      'karpenter/node-pools',
      'karpenter/node-claims',
      'karpenter/node-classes',
      'karpenter/release',
      'karpenter/definitions',
      'flux/objects',
      'cluster/cloud',
    ])
  })

  for (const [what, stages] of [
    ['no stage at all', []],
    ['Flux alone', [flux]],
  ] as const)
    it(`drain the nodes of any Karpenter, with ${what}`, () => {
      const steps = names(planRemoval(stages, allOf(stages), removal()))
      const nodes = ['cluster/node-pools', 'cluster/node-claims', 'cluster/node-classes']
      assert.deepEqual(steps.slice(0, 4), ['cluster/load-balancers', ...nodes])
      assert.equal(steps.at(-1), 'cluster/cloud')
    })

  it('drain nodes also where a stage is to be kept: the cluster goes', () => {
    const kept = stage('karpenter', { karpenter: { namespace: 'x' }, uninstall: { policy: 'Keep', timeout: '10m' } })
    const steps = names(planRemoval([kept], allOf([kept]), removal()))
    assert.ok(steps.includes('karpenter/node-claims'), steps.join())
    assert.ok(steps.includes('karpenter/node-classes'), steps.join())
    assert.ok(!steps.includes('karpenter/release'), steps.join())
  })

  it('touch no balancer when the Cluster lives', () => {
    const steps = names(
      planRemoval([karpenter], allOf([karpenter]), removal({ withCluster: false, isClusterKept: true })),
    )
    assert.deepEqual(
      steps.filter((name) => name.startsWith('cluster/')),
      [],
    )
  })

  it('never remove a controller before the balancers and nodes that need it, whatever the pipeline', () => {
    const some = fc.subarray([flux, karpenter, pool, stage('extra'), stage('more', { nodePool: { name: 'gpu' } })])
    fc.assert(
      fc.property(some, fc.boolean(), (stages, isKept) => {
        const own = stages.map((one) => ({
          ...one,
          needs: one.needs.filter((need) => stages.some(({ name }) => name === need)),
          uninstall: { policy: isKept ? ('Keep' as const) : ('Delete' as const), timeout: '10m' },
        }))
        const steps = planRemoval(own, allOf(own), removal())
        const last = (type: Step['type']) => steps.findLastIndex((step) => step.type === type)
        const first = (...types: readonly Step['type'][]) => steps.findIndex((step) => types.includes(step.type))
        assert.equal(last('load-balancers'), 0)
        assert.equal(first('cloud'), steps.length - 1)
        assert.ok(steps.some((step) => step.type === 'node-claims' && step.pool === undefined))
        const removed = first('release', 'definitions')
        assert.ok(removed < 0 || last('node-claims') < removed, names(steps).join())
        assert.ok(removed < 0 || last('node-classes') < removed, names(steps).join())
        assert.equal(new Set(names(steps)).size, steps.length)
      }),
    )
  })
})

const thing = (kind: string, name: string, over: Partial<Thing> = {}): Thing => ({
  kind: { group: '', version: 'v1', kind, plural: `${kind.toLowerCase()}s`, namespaced: true },
  key: { namespace: 'default', name },
  isDeleting: true,
  finalizers: [],
  ...over,
})
const empty: Survey = { instances: [], volumes: [], profiles: [], network: [], faults: [] }

/** The steps as they are planned, one of each type at least. */
const STEPS = [false, true].flatMap((isClusterKept) => {
  const stages = [flux, { ...karpenter, needs: ['flux'] }, { ...pool, nodePool: { ...pool.nodePool!, verify: {} } }]
  return planRemoval(stages as AddonStage[], allOf(stages as AddonStage[]), removal({ isClusterKept }))
})

function observed(
  type: Step['type'],
  over: Partial<ObservedTeardown> & { readonly left?: readonly Thing[]; alive?: boolean },
) {
  const planned = STEPS.find((one) => one.type === type)
  assert.ok(planned, type)
  const step: Step = { ...planned, name: `x/${type}`, stage: 'x', timeoutMs: 5 * MINUTE_MS }
  const { left = [], alive, ...rest } = over
  const observedStep = type === 'cloud' ? undefined : { step, left, inUse: [], isControllerAlive: alive }
  return {
    cause: 'cluster',
    startedAt,
    unreachableSince: undefined,
    ended: [],
    current: { step, observedStep, startedAt },
    isWorkloadOpen: true,
    isWorkloadAbsent: false,
    survey: undefined,
    mayTerminate: false,
    mayDeleteNetwork: true,
    leftovers: [],
    isEmpty: false,
    ...rest,
  } as ObservedTeardown
}

/** The decision in one word, and the leftovers so far. */
function decided(of: ObservedTeardown, minutes: number): readonly [string, readonly string[]] {
  const { decision, status, isOver } = decideTeardown(of, START_MS + minutes * MINUTE_MS)
  if (isOver) return ['over', status.leftovers ?? []]
  const ended = status.steps?.find((one) => one.name === of.current?.step.name && one.state !== 'Running')
  const word = ended ? ended.state : decision.is === 'act' ? decision.actions[0]!.do : decision.is
  return [word, status.leftovers ?? []]
}

describe('a step of a teardown', () => {
  const balancer = { kind: 'load balancer', id: 'lb-1', isRemovable: true }
  const unsure = { kind: 'load balancer', id: 'lb-2', isRemovable: false }
  const fault = { what: 'load balancers', message: 'denied' } as const
  const dead = { ended: [{ name: 'workload', state: 'Skipped' as const }] }
  for (const [what, of, minutes, word, leftovers] of [
    [
      'deletes a Service',
      observed('load-balancers', { left: [thing('Service', 'a', { isDeleting: false })] }),
      0,
      'delete',
      [],
    ],
    ['waits for its balancer', observed('load-balancers', { left: [thing('Service', 'a')] }), 4, 'waiting', []],
    [
      'gives up on a balancer',
      observed('load-balancers', { left: [thing('Service', 'a')] }),
      5,
      'GaveUp',
      ['load balancer of Service default/a'],
    ],
    [
      'gives up on a Service that is made again and again',
      observed('load-balancers', { left: [thing('Service', 'a', { isDeleting: false })] }),
      5,
      'GaveUp',
      ['load balancer of Service default/a'],
    ],
    ['finds nothing in the cloud', observed('cloud', { survey: empty }), 0, 'Done', []],
    ['has no cloud to search', observed('cloud', { survey: { ...empty, network: undefined } }), 0, 'Skipped', []],
    [
      'removes a balancer by tag',
      observed('cloud', { survey: { ...empty, network: [balancer] } }),
      0,
      'remove-network',
      [],
    ],
    [
      'reports a balancer that the cloud does not remove',
      observed('cloud', { survey: { ...empty, network: [balancer] } }),
      5,
      'GaveUp',
      ['load balancer lb-1'],
    ],
    [
      'only reports a balancer when that is asked for',
      observed('cloud', { survey: { ...empty, network: [balancer] }, mayDeleteNetwork: false }),
      0,
      'GaveUp',
      ['load balancer lb-1'],
    ],
    [
      'only reports a balancer of an unknown network',
      observed('cloud', { survey: { ...empty, network: [unsure] } }),
      0,
      'GaveUp',
      ['load balancer lb-2'],
    ],
    ['reports volumes', observed('cloud', { survey: { ...empty, volumes: ['vol-1'] } }), 0, 'GaveUp', ['volume vol-1']],
    [
      'replaces a guess about a balancer by what the cloud lists',
      observed('cloud', { survey: empty, leftovers: ['load balancer of Service default/a', 'NodeClaim b'] }),
      0,
      'Done',
      ['NodeClaim b'],
    ],
    [
      'keeps the guess when the cloud cannot be searched',
      observed('cloud', {
        survey: { ...empty, network: undefined },
        leftovers: ['load balancer of Service default/a'],
      }),
      0,
      'Skipped',
      ['load balancer of Service default/a'],
    ],
    ['asks a refusing cloud again', observed('cloud', { survey: { ...empty, faults: [fault] } }), 0, 'waiting', []],
    [
      'asks longer after trouble',
      observed('cloud', { survey: { ...empty, faults: [fault] }, ...dead }),
      4,
      'waiting',
      [],
    ],
    [
      'reports what could not be listed',
      observed('cloud', { survey: { ...empty, network: undefined, faults: [fault] }, ...dead }),
      5,
      'GaveUp',
      ['load balancers that could not be looked for (denied)'],
    ],
    [
      'waits for ever for the API of a cluster that stays',
      observed('release', { cause: 'stages', isWorkloadOpen: false, left: [thing('HelmRelease', 'karpenter')] }),
      600,
      'waiting',
      [],
    ],
  ] as const)
    it(what, () => assert.deepEqual(decided(of, minutes), [word, leftovers]))

  const claim = thing('NodeClaim', 'c', { finalizers: ['foregroundDeletion', 'karpenter.sh/termination'] })
  const waitingClaim = thing('NodeClaim', 'c', { finalizers: ['foregroundDeletion'] })
  const node = thing('Node', 'n', { finalizers: ['karpenter.sh/termination'] })
  const claims = (
    left: readonly Thing[],
    nodes: readonly Thing[],
    survey: Survey | undefined = empty,
  ): ObservedTeardown => {
    const base = observed('node-claims', { left, alive: false, survey })
    return { ...base, current: { ...base.current!, observedStep: { ...base.current!.observedStep!, nodes } } }
  }
  for (const [what, of, minutes, word] of [
    ['waits a minute for Karpenter to come back', claims([claim], [node]), 0.5, 'waiting'],
    ['takes finalizers off claims and Nodes', claims([claim], [node]), 2, 'strip-finalizers'],
    ['takes the finalizer off a Node that alone holds a claim', claims([waitingClaim], [node]), 2, 'strip-finalizers'],
    ['deletes a Node that is not going yet', claims([claim], [{ ...node, isDeleting: false }]), 2, 'delete'],
    ['looks again before it gives up', claims([waitingClaim], []), 5, 'waiting'],
    ['gives up when the claim never goes', claims([waitingClaim], []), 7, 'GaveUp'],
  ] as const)
    it(`with a dead Karpenter ${what}`, () => assert.equal(decided(of, minutes)[0], word))

  it('always ends when the Cluster is deleted, whatever is observed and however long nothing changes', () => {
    const types = [
      'probe',
      'node-pools',
      'node-claims',
      'load-balancers',
      'node-classes',
      'release',
      'definitions',
      'objects',
      'cloud',
    ] as const
    const things = fc.array(
      fc.record({
        isDeleting: fc.boolean(),
        finalizers: fc.subarray(['foregroundDeletion', 'karpenter.sh/termination', 'finalizers.fluxcd.io', 'other/x']),
      }),
      { maxLength: 3 },
    )
    const survey = fc.record({
      instances: fc.subarray(['i-1', 'i-2']),
      volumes: fc.subarray(['vol-1']),
      profiles: fc.subarray(['demo_1']),
      network: fc.option(fc.subarray([balancer, unsure]), { nil: undefined }),
      faults: fc.subarray([fault]),
    })
    const given = fc.record({
      type: fc.constantFrom(...types),
      left: things,
      nodes: things,
      alive: fc.option(fc.boolean(), { nil: undefined }),
      isOpen: fc.boolean(),
      isAbsent: fc.boolean(),
      survey,
      mayTerminate: fc.boolean(),
      mayDeleteNetwork: fc.boolean(),
    })
    fc.assert(
      fc.property(given, ({ type, left, nodes, alive, isOpen, isAbsent, survey, ...may }) => {
        const toThings = (some: typeof left) => some.map((one, i) => thing('X', `x-${i}`, one))
        const base = observed(type, {
          left: toThings(left),
          ...(alive === undefined ? {} : { alive }),
          survey,
          isWorkloadOpen: isOpen,
          isWorkloadAbsent: isAbsent,
          unreachableSince: startedAt,
          ...may,
        })
        const observedStep = base.current!.observedStep && { ...base.current!.observedStep, nodes: toThings(nodes) }
        const { status } = decideTeardown(
          { ...base, current: { ...base.current!, observedStep } },
          START_MS + 60 * MINUTE_MS,
        )
        assert.ok(
          status.steps!.every((step) => step.state !== 'Running'),
          JSON.stringify(status),
        )
      }),
      { numRuns: 500 },
    )
  })

  it('names what it strips, Nodes included', () => {
    const { decision } = decideTeardown(claims([claim], [node]), START_MS + 2 * MINUTE_MS)
    assert.ok(decision.is === 'act')
    const [action] = decision.actions
    assert.ok(action?.do === 'strip-finalizers')
    assert.deepEqual(
      action.things.map(({ kind, key }) => `${kind.kind} ${key.name}`),
      ['NodeClaim c', 'Node n'],
    )
  })
})
