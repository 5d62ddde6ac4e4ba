// What follows each class of failure, for apply and destroy: attempts, waits, limit, condition, Warnings on the object and on its
// Cluster, metric, `describe` block, doctor finding. The controller and the loop are real; the engine ends its runs as the table says, on a manual clock.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  clusterKind,
  conditionOf,
  EventKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import type { FaultKind, RunFault, Verb } from '#engine'
import { createEvents } from '#kube'
import { silentLog } from '#lib'
import { type AnyController, runControllers } from '#runtime'
import { anApply, aTemplate, collectingMetrics, type ManualClock, manualClock, memoryCluster } from '#testing'
import { applyBranch } from '#view'
import { workspaceApplyController } from '../../../src/controllers/workspace-apply/index.ts'
import { examineApply } from '../../../src/doctor/workspace.ts'
import { scriptedEngine } from '../../support/engine/scripted-engine.ts'

/** Every class but those that a person asked for: a class without a row does not compile. */
type Failure = Exclude<FaultKind, 'cancelled' | 'paused'>

interface Row {
  /** Seconds between the end of an attempt and the next one, with a limit of 5. */
  readonly waits: readonly number[]
  /** Reason of Ready while another attempt is due. */
  readonly reason?: string
  readonly stalls?: true
  /** Reason of Ready and Stalled at the end. */
  readonly end: string
}

const RETRIED = { reason: 'RetryScheduled', end: 'RetriesExhausted' }
const REJECTED = { reason: 'CredentialsRejected', stalls: true, end: 'CredentialsRejected' } as const
const LOCKED = { reason: 'StateLocked', end: 'StateLocked' }
const STOPPED = { reason: 'DestroyFailed', stalls: true, end: 'RetriesExhausted' } as const

const COMMON: Readonly<Record<Exclude<Failure, 'user' | 'deadline'>, Row>> = {
  credentials: { waits: [30, 60, 120, 240, 480], ...REJECTED },
  throttling: { waits: [30, 60, 120, 240, 480], ...RETRIED },
  capacity: { waits: [60, 120, 240, 480, 900], ...RETRIED },
  dependency: { waits: [15, 30, 60, 120, 240], ...RETRIED },
  network: { waits: [10, 20, 40, 80, 160], ...RETRIED },
  internal: { waits: [10, 20, 40, 80, 160], ...RETRIED },
  memory: { waits: [30, 60, 120, 240, 480], ...RETRIED },
  lost: { waits: [1, 2, 4, 8, 16], ...RETRIED },
  locked: { waits: [15, 30, 60, 120, 240], ...LOCKED },
}
const TABLE: Readonly<Record<Verb, Readonly<Record<Failure, Row>>>> = {
  apply: {
    ...COMMON,
    user: { waits: [], end: 'ApplyRejected' },
    deadline: { waits: [], end: 'TimedOut' },
  },
  destroy: {
    ...COMMON,
    user: { waits: [30, 60, 120, 240, 480], ...STOPPED },
    deadline: { waits: [60, 120, 240, 480, 600], ...STOPPED },
  },
}

const Cluster = clusterKind('v1beta2')
const KEY = { namespace: 'default', name: 'demo-vpc' }
const START_MS = Date.UTC(2026, 0, 1)

interface Event extends AnyObject {
  readonly type: string
  readonly reason: string
  readonly note: string
  readonly regarding: { readonly kind: string; readonly uid?: string }
  readonly series?: { readonly count: number }
}

async function open(fails: (verb: Verb) => RunFault | undefined, spec: Parameters<typeof anApply>[0] = {}) {
  const clock = manualClock(START_MS)
  const cluster = memoryCluster()
  const engine = scriptedEngine(clock, ({ verb }) => fails(verb))
  const metrics = collectingMetrics()
  const events = createEvents(cluster.objects, { controller: 'example.com/test', instance: 'one', clock })
  const controller = workspaceApplyController({ engine, clusterKind: Cluster }) as unknown as AnyController
  cluster.seed(Cluster, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { namespace: 'default', name: 'demo', uid: 'uid-of-cluster' },
  })
  cluster.seed(WorkspaceTemplate, aTemplate())
  cluster.seed(
    WorkspaceTemplateApply,
    anApply(spec, { ...KEY, uid: 'uid-of-apply', labels: { [CLUSTER_NAME_LABEL]: 'demo' } }),
  )
  const running = runControllers({
    controllers: [controller],
    objects: cluster.objects,
    informers: cluster.informers,
    events,
    clock,
    log: silentLog,
    metrics,
  })
  engine.onChange((key) => running.wake('workspacetemplateapply', key))
  await running.synced()
  await advanceUntil(clock, () => engine.starts[0]?.finishedMs !== undefined, 10)
  return {
    clock,
    cluster,
    engine,
    metrics,
    running,
    apply: () => cluster.peek<WorkspaceTemplateApply>(WorkspaceTemplateApply, KEY),
    async warnings(uid: string) {
      await events.flush()
      const all = cluster.storage.list(EventKind) as AnyObject[] as Event[]
      return all.filter(({ type, regarding }) => type === 'Warning' && regarding.uid === uid)
    },
  }
}

/** In small steps, so that what follows at once is not missed; at most so long. */
async function advanceUntil(clock: ManualClock, test: () => boolean, seconds: number): Promise<void> {
  for (let at = 0; at < seconds * 2 && !test(); at++) await clock.advance(500)
  await clock.advance(100)
}

/** What `capt describe` and `capt doctor` say about the apply as it is now. */
function assertExplained(apply: WorkspaceTemplateApply, nowMs: number): void {
  const { stop } = applyBranch(apply)
  assert.match(stop?.what ?? '', /aws_vpc\.main: it failed/, 'describe has a block')
  assert.match(stop?.todo ?? '', /correct it/)
  const exam = { record: undefined, lock: { is: 'free' }, state: { is: 'none' }, runner: undefined } as const
  const { findings } = examineApply({ apply, exam: exam as never, cloud: { is: 'skipped' }, nowMs })
  const found = findings.filter(({ weight, what }) => weight === 'person' && /it failed/.test(what))
  assert.equal(found.length, 1, `doctor has one finding: ${JSON.stringify(findings)}`)
}

const times = (events: readonly Event[]) => events.reduce((sum, { series }) => sum + (series?.count ?? 1), 0)
const faultOf = (kind: FaultKind): RunFault => ({
  kind,
  code: 'CAPT_TF_FAILED',
  address: 'aws_vpc.main',
  message: 'it failed',
  hint: 'correct it',
})

for (const verb of ['apply', 'destroy'] as const) {
  describe(`a failed ${verb}`, () => {
    for (const [kind, { waits, reason, stalls, end }] of Object.entries(TABLE[verb]) as [Failure, Row][])
      it(`of class ${kind} is tried ${waits.length} more times and ends with ${end}`, async () => {
        const world = await open((now) => (now === verb ? faultOf(kind) : undefined))
        const { clock, engine, cluster } = world
        if (verb === 'destroy') {
          assert.equal(conditionOf(world.apply()!, 'Ready')?.status, 'True')
          await cluster.objects.delete(WorkspaceTemplateApply, KEY)
          await advanceUntil(clock, () => engine.starts[1]?.finishedMs !== undefined, 10)
        }
        const runs = () => engine.starts.filter((start) => start.verb === verb)
        for (const [i, wait] of waits.entries()) {
          const ready = conditionOf(world.apply()!, 'Ready')
          assert.deepEqual([ready?.status, ready?.reason], ['False', reason], `after attempt ${i + 1}`)
          assert.match(ready?.message ?? '', /aws_vpc\.main: it failed/)
          assert.equal(conditionOf(world.apply()!, 'Stalled')?.status === 'True', stalls === true)
          assertExplained(world.apply()!, clock.now())
          await advanceUntil(clock, () => runs()[i + 1]?.finishedMs !== undefined, wait + 10)
          const [before, next] = [runs()[i]!, runs()[i + 1]]
          assert.ok(next, `attempt ${i + 2} was made`)
          const waited = (next.startedMs - before.finishedMs!) / 1000
          assert.ok(waited >= wait && waited <= wait + 2, `waited ${waited} s instead of ${wait} s`)
        }
        await clock.advance(4 * 3600 * 1000)
        assert.equal(runs().length, waits.length + 1, 'the limit counts')
        assert.equal(conditionOf(world.apply()!, 'Ready')?.reason, end)
        const stalled = conditionOf(world.apply()!, 'Stalled')
        assert.deepEqual([stalled?.status, stalled?.reason], ['True', end])
        assert.match(stalled?.message ?? '', /correct it/)
        assertExplained(world.apply()!, clock.now())
        if (verb === 'destroy') {
          assert.match(stalled?.message ?? '', /capt retry demo-vpc/)
          assert.match(stalled?.message ?? '', /raise spec\.retry\.limit or spec\.deletionTimeout/)
          assert.match(stalled?.message ?? '', /"retainWorkspaceOnDelete":true/)
        }
        for (const uid of ['uid-of-apply', 'uid-of-cluster']) {
          const warnings = await world.warnings(uid)
          assert.equal(times(warnings), waits.length + 1, `one Warning per attempt on ${uid}`)
          assert.ok(warnings.length <= 2, 'repeats are one series')
          for (const { note } of warnings) assert.match(note, /aws_vpc\.main: it failed.*correct it/)
        }
        const labels = { controller: 'workspacetemplateapply', class: kind }
        assert.equal(world.metrics.value('capt_failed_attempts_total', labels), waits.length + 1)
        await world.running.stop()
      })
  })
}

describe('a deletion that stopped', () => {
  it('goes on when the infrastructure is to stay, and when the limit is raised', async () => {
    const world = await open((verb) => (verb === 'destroy' ? faultOf('dependency') : undefined), {
      retry: { limit: 0 },
    })
    const { clock, cluster, engine } = world
    await cluster.objects.delete(WorkspaceTemplateApply, KEY)
    await clock.advance(3600_000)
    const patch = (spec: object) => cluster.others.patch(WorkspaceTemplateApply, KEY, { type: 'merge', body: { spec } })
    const destroys = () => engine.starts.filter(({ verb }) => verb === 'destroy').length
    assert.equal(destroys(), 1)
    await patch({ retry: { limit: 1 } })
    await clock.advance(3600_000)
    assert.equal(destroys(), 2)
    await patch({ retainWorkspaceOnDelete: true })
    await clock.advance(5_000)
    assert.equal(world.apply(), undefined)
    await world.running.stop()
  })

  it('begins no attempt after spec.deletionTimeout', async () => {
    const spec = { retry: { limit: 100 }, deletionTimeout: '30m' }
    const world = await open((verb) => (verb === 'destroy' ? faultOf('dependency') : undefined), spec)
    const { clock, cluster, engine } = world
    await cluster.objects.delete(WorkspaceTemplateApply, KEY)
    await clock.advance(24 * 3600_000)
    const destroys = engine.starts.filter(({ verb }) => verb === 'destroy')
    assert.ok(destroys.at(-1)!.startedMs - destroys[0]!.startedMs <= 1800_000)
    assert.equal(conditionOf(world.apply()!, 'Stalled')?.reason, 'DeletionOverdue')
    const tried = destroys.length
    const body = { metadata: { annotations: { 'capt.appthrust.com/retry': 'now' } } }
    await cluster.others.patch(WorkspaceTemplateApply, KEY, { type: 'merge', body })
    await clock.advance(300_000)
    assert.ok(engine.starts.length > tried + 2, 'capt retry starts the time again')
    await world.running.stop()
  })
})
