// The waves of a pipeline: what a delivery says about the newest revision, what the pipeline reports, and which revision is rendered.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AddonPipeline, PipelineRollout } from '#api'
import type { Projected } from '#kube'
import { toTimestamp } from '#lib'
import type { ClusterSummary, DeliverySummary } from '../addon-delivery/summaries.ts'
import { decide } from './decide.ts'
import { defaultPipeline } from './default-pipeline.ts'
import type { ObservedPipeline } from './observed.ts'
import { followRevision, keptRevisions, revisionOf } from './revision.ts'
import { decideRollout, type Follower, observeRollout, reportRollout, rolloutCondition, toMember } from './rollout.ts'
import { reportPipeline } from './status.ts'

const NOW_MS = Date.UTC(2026, 0, 1, 12)
const ago = (seconds: number) => toTimestamp(NOW_MS - seconds * 1000)
const ORDER = [
  { key: 'env', value: 'dev' },
  { key: 'env', value: 'prod' },
]
const ROLLOUT: PipelineRollout = { order: ORDER, maxConcurrent: 1, soak: '1m' }
const SINCE = ago(600)

const follower = (
  name: string,
  over: Partial<DeliverySummary> & { readonly env?: string; readonly paused?: boolean } = {},
): Follower => {
  const { env, paused = false, ...rest } = over
  const cluster = { namespace: 'a', name, uid: name, labels: env ? { env } : {}, paused, deleting: false }
  const delivery = {
    namespace: 'a',
    name,
    clusterName: name,
    isReady: true,
    isCurrent: true,
    isAssigned: true,
    assigned: 'new',
    revision: 'new',
    revisionSince: ago(100),
    readySince: ago(5000),
    createdAt: ago(9000),
    trouble: undefined,
    isPaused: false,
    ...rest,
  } as DeliverySummary
  return { delivery, cluster: cluster as ClusterSummary, name }
}
const OLD = { assigned: 'old', revision: 'old' } as const

describe('a delivery in the waves of its pipeline', () => {
  const rows: readonly (readonly [what: string, given: Follower, expected: object])[] = [
    ['is behind with an earlier revision', follower('a', OLD), { state: 'behind', wave: 2 }],
    ['is behind when nothing is known of its revision', follower('a', { assigned: undefined }), { state: 'behind' }],
    ['is in the wave of its label', follower('a', { ...OLD, env: 'prod' }), { wave: 1 }],
    ['is paused with its Cluster', follower('a', { ...OLD, paused: true }), { state: 'paused' }],
    ['is paused by itself', follower('a', { ...OLD, isPaused: true }), { state: 'paused' }],
    ['moves until it reports on the revision', follower('a', { revision: 'old' }), { state: 'moving' }],
    ['moves until it reports on its spec', follower('a', { isCurrent: false }), { state: 'moving' }],
    ['moves while it is not ready', follower('a', { isReady: false }), { state: 'moving' }],
    [
      'is unhealthy with its trouble',
      follower('a', { isReady: false, trouble: 'no pods' }),
      { state: 'unhealthy', reason: 'no pods' },
    ],
    [
      'does not stop for trouble of before',
      follower('a', { isReady: false, revision: 'old', trouble: 'no' }),
      { state: 'moving' },
    ],
    ['is healthy since it got the revision', follower('a'), { state: 'healthy', sinceMs: NOW_MS - 100_000 }],
    [
      'is healthy since it recovered',
      follower('a', { readySince: ago(5) }),
      { state: 'healthy', sinceMs: NOW_MS - 5000 },
    ],
    ['is left out when it is paused on the way', follower('a', { isReady: false, paused: true }), { state: 'paused' }],
  ]
  for (const [what, given, expected] of rows)
    it(what, () => assert.partialDeepStrictEqual(toMember(given, 'new', ORDER), expected))
})

describe('a pipeline with waves', () => {
  const observe = (...followers: readonly Follower[]) => observeRollout(ROLLOUT, 'new', SINCE, followers, NOW_MS)
  const dev = follower('dev', { env: 'dev' })
  const prod = follower('prod', { ...OLD, env: 'prod' })
  const other = follower('other', OLD)

  it('begins with the first label', () => {
    const { waves } = observe(follower('dev', { ...OLD, env: 'dev' }), prod, other)
    assert.deepEqual([waves.start, waves.notReached, waves.waves], [['dev'], ['prod', 'other'], 3])
  })

  it('soaks, and says until when without a time in the message', () => {
    const observed = observe(follower('dev', { env: 'dev', revisionSince: ago(20) }), prod, other)
    assert.deepEqual(decideRollout(observed), {
      is: 'waiting',
      reason: 'Soaking',
      message: 'Wave 2 of 3 begins when all before it stayed healthy for 1m. Not reached: prod, other',
      retryAfterSeconds: 40,
    })
    assert.equal(reportRollout(observed).soakUntil, toTimestamp(NOW_MS + 40_000))
  })

  it('stops at an unhealthy Cluster, names it and those not reached, once as an event', () => {
    const sick = follower('dev', { env: 'dev', isReady: false, trouble: 'karpenter: ImagePullBackOff' })
    const rollout = observe(sick, prod, other)
    const decision = decideRollout(rollout)!
    assert.partialDeepStrictEqual(decision, {
      is: 'stalled',
      reason: 'WavesStopped',
      message: 'Cluster dev is not healthy: karpenter: ImagePullBackOff. Not reached: prod, other',
    })
    assert.partialDeepStrictEqual(reportRollout(rollout), {
      wave: 2,
      stopped: { cluster: 'dev', reason: 'karpenter: ImagePullBackOff' },
      notReached: ['prod', 'other'],
    })
    assert.partialDeepStrictEqual(rolloutCondition(rollout), { status: 'False', reason: 'WavesStopped' })
    const report = (status?: object) => {
      const pipeline = { ...defaultPipeline('a'), status } as unknown as ObservedPipeline['pipeline']
      return reportPipeline(
        { pipeline, clusters: [], deliveries: [], unselected: [], fault: undefined, rollout },
        decision,
      )
    }
    assert.partialDeepStrictEqual(report().failed, [{ class: 'rollout', reason: 'WavesStopped' }])
    const known = { rollout: { revision: 'new', stopped: { cluster: 'dev', reason: 'other words' } } }
    assert.deepEqual(report(known).failed, [])
    assert.equal(report({ rollout: { ...known.rollout, revision: 'fix' } }).failed?.length, 1)
  })

  it('leaves Clusters that came with the newest revision out, also while they are not ready', () => {
    const born = follower('fresh', { env: 'dev', createdAt: ago(30), isReady: false })
    const { waves } = observe(born, dev, prod)
    assert.deepEqual([waves.start, waves.moving], [['prod'], []])
  })

  it('is through with paused Clusters, and names them', () => {
    const observed = observe(dev, follower('held', { ...OLD, paused: true }))
    assert.equal(decideRollout(observed), undefined)
    assert.deepEqual(rolloutCondition(observed), {
      type: 'RolledOut',
      status: 'False',
      reason: 'ClustersPaused',
      message: 'Paused, with an earlier revision: held',
    })
  })

  it('gives a new Cluster the newest revision at once', () => {
    const pipeline = {
      ...defaultPipeline('a'),
      metadata: { name: 'x', finalizers: ['infrastructure.cluster.x-k8s.io/addonpipeline'] },
    }
    const rollout = observe(prod)
    const observed = {
      pipeline: pipeline as never,
      clusters: [dev.cluster],
      deliveries: [],
      unselected: [],
      fault: undefined,
      rollout,
    }
    assert.partialDeepStrictEqual(decide(observed), {
      is: 'act',
      actions: [{ do: 'create-delivery', revision: 'new' }],
    })
  })

  it('cuts long lists in messages, never in the status', () => {
    const many = Array.from({ length: 30 }, (_, i) => follower(`c${i}`, OLD))
    const observed = observe(dev, follower('p', { env: 'prod', isReady: false }), ...many)
    assert.match((decideRollout(observed) as { message: string }).message, /c0, c1, .*c9 and 20 more$/)
    assert.equal(reportRollout(observed).notReached?.length, 30)
  })
})

describe('a revision of a pipeline', () => {
  const base = defaultPipeline('a')
  const make = (over: object, status?: object) =>
    ({ ...base, spec: { ...base.spec, ...over }, status }) as unknown as Projected<AddonPipeline>
  const before = make({ rollout: ROLLOUT, variables: { A: '1' } })
  const kept = keptRevisions(before, new Set(), SINCE)
  const after = make({ rollout: ROLLOUT, variables: { A: '2' } }, { revisions: kept })
  const delivery = (spec: object, status?: object) => ({ spec, status }) as never

  it('changes with what is delivered, not with whom it is for or how it is rolled out', () => {
    assert.notEqual(revisionOf(before), revisionOf(after))
    assert.equal(revisionOf(make({ variables: { A: '1' }, clusterSelector: {} })), revisionOf(before))
  })

  it('is rendered as it was until the wave of the Cluster', () => {
    const followed = followRevision(after, delivery({ revision: revisionOf(before) }))
    assert.ok(followed.is === 'earlier')
    assert.deepEqual(followed.pipeline.spec.variables, { A: '1' })
    assert.equal(followRevision(after, delivery({ revision: revisionOf(after) })).is, 'newest')
  })

  it('is the one that was rendered last while none is assigned', () => {
    assert.equal(followRevision(after, delivery({}, { revision: revisionOf(before) })).is, 'earlier')
    assert.equal(followRevision(after, delivery({})).is, 'newest')
  })

  it('is left alone when its content is gone, and ignored without a rollout', () => {
    assert.equal(followRevision(after, delivery({ revision: 'lost' })).is, 'unknown')
    assert.equal(followRevision(make({}), delivery({ revision: 'lost' })).is, 'newest')
  })

  it('is kept while a delivery has it', () => {
    const names = (inUse: readonly string[]) => keptRevisions(after, new Set(inUse), SINCE)?.map(({ name }) => name)
    assert.deepEqual(names([revisionOf(before)]), [revisionOf(after), revisionOf(before)])
    assert.deepEqual(names([]), [revisionOf(after)])
    assert.equal(keptRevisions(make({}), new Set(), SINCE), undefined)
  })

  it('drops variables that an earlier revision did not have', () => {
    const bare = make({ rollout: ROLLOUT })
    const now = make({ rollout: ROLLOUT, variables: { A: '2' } }, { revisions: keptRevisions(bare, new Set(), SINCE) })
    const followed = followRevision(now, delivery({ revision: revisionOf(bare) }))
    assert.ok(followed.is === 'earlier')
    assert.equal(followed.pipeline.spec.variables, undefined)
  })
})
