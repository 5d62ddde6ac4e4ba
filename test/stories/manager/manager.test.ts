// The manager as a management cluster sees it: which kinds it lists and watches, and which metrics it exposes.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ALL_KINDS, CONTROLLER_GROUPS, toCustomResourceDefinition, WorkspaceTemplateApply } from '#api'
import { startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { readKubeconfigText } from '#kube'
import { systemClock } from '#lib'
import { anApply, collectingMetrics, manualClock, memoryCluster } from '#testing'
import { type ManagerOptions, startManager } from '../../../src/app/manager.ts'
import { measureRuns } from '../../../src/controllers/workspace-apply/metrics.ts'
import type { Request } from '../../support/cluster/story-world.ts'

const undo: (() => Promise<unknown> | unknown)[] = []
after(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** Everything that the manager asks for until its caches are filled. */
async function begin(over: Partial<ManagerOptions> = {}): Promise<readonly Request[]> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-manager-'))
  undo.push(() => rmSync(folder, { recursive: true, force: true }))
  const requests: Request[] = []
  const server = await startApiServer({
    dataDir: join(folder, 'home'),
    crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
    converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
    onRequest: (request) => requests.push(request),
  })
  undo.push(() => server.close())
  const manager = await startManager({
    access: await readKubeconfigText(server.kubeconfig(), { origin: 'the test', clock: systemClock }),
    controllers: CONTROLLER_GROUPS,
    workDir: join(folder, 'runs'),
    engine: 'simulated',
    logLevel: 'error',
    logTo: { write: () => undefined },
    env: {},
    ...over,
  })
  undo.push(() => manager.stop())
  await manager.connection.informers.synced()
  return requests
}

const listsOf = (requests: readonly Request[], plural: string) =>
  requests.map(({ path }) => path).filter((path) => path.endsWith(`/${plural}`))

describe('the manager in a management cluster', () => {
  it('lists and watches no Secret', async () => {
    const requests = await begin()
    assert.deepEqual(listsOf(requests, 'secrets'), [])
    assert.ok(listsOf(requests, 'captcontrolplanes').length > 0)
  })

  it('watches those of its own namespace when configured so', async () => {
    const requests = await begin({ namespace: 'team-a', watchSecrets: true })
    assert.deepEqual(new Set(listsOf(requests, 'secrets')), new Set(['/api/v1/namespaces/team-a/secrets']))
  })

  it('does not watch Secrets of every namespace, whatever is configured', async () => {
    await assert.rejects(begin({ watchSecrets: true }), { code: 'CAPT_USAGE' })
  })
})

describe('the numbers of runs', () => {
  it('say what is going on and how runs ended, from what is cached', async () => {
    const clock = manualClock()
    const cluster = memoryCluster({ clock })
    const metrics = collectingMetrics()
    const { informers, others } = cluster
    informers.register(WorkspaceTemplateApply)
    informers.start()
    measureRuns(informers, metrics, clock)
    assert.equal(metrics.value('capt_runs_total', { verb: 'apply', result: 'failed' }), 0, 'from the start')
    const key = { namespace: 'default', name: 'demo' }
    const report = (status: object) =>
      others.patch(WorkspaceTemplateApply, key, { type: 'merge', body: { status } }, { subresource: 'status' })
    await others.create(WorkspaceTemplateApply, anApply({}, key))
    const startedAt = '2026-01-01T00:00:00Z'
    const queue = { position: 1, reason: 'IdentityLimit', since: startedAt }
    await report({ phase: 'Running', run: { id: 'a', verb: 'apply', phase: 'Queued', startedAt, queue } })
    await clock.advance(5_000)
    assert.equal(metrics.value('capt_runs_queued', { reason: 'IdentityLimit' }), 1)
    assert.equal(metrics.value('capt_run_queue_oldest_seconds'), 5)
    assert.equal(metrics.value('capt_runs_in_progress'), 0)
    await report({ run: { phase: 'Apply', queue: null } })
    await clock.advance(25_000)
    assert.equal(metrics.value('capt_runs_in_progress'), 1)
    assert.equal(metrics.value('capt_runs_queued', { reason: 'IdentityLimit' }), 0)
    assert.equal(metrics.value('capt_run_oldest_seconds'), 30)
    assert.equal(metrics.value('capt_workspaces', { phase: 'Running' }), 1)
    await report({ phase: 'Applied', run: { phase: 'Succeeded', finishedAt: '2026-01-01T00:00:40Z' } })
    await report({ attempts: 1 })
    assert.equal(metrics.value('capt_runs_in_progress'), 0)
    assert.equal(metrics.value('capt_runs_total', { verb: 'apply', result: 'succeeded' }), 1)
    assert.equal(metrics.value('capt_run_duration_seconds', { verb: 'apply' }), 1)
    const locked = { type: 'Ready', status: 'False', reason: 'StateLocked', message: '', lastTransitionTime: startedAt }
    await report({ conditions: [locked] })
    assert.equal(metrics.value('capt_locks_awaited'), 1)
    await report({ drift: { result: 'Drifted', drifted: 2, checkedAt: startedAt } })
    await report({ attempts: 2 })
    assert.equal(metrics.value('capt_drift_workspaces', { result: 'Drifted' }), 1)
    assert.equal(metrics.value('capt_drift_resources'), 2)
    assert.equal(metrics.value('capt_drift_checks_total', { result: 'Drifted' }), 1)
    const plan = { add: 2, change: 1, destroy: 0, replace: 0 }
    const queued = { id: 'b', verb: 'apply', phase: 'Queued', startedAt: '2026-01-01T00:00:00Z' }
    await report({ run: queued, plan })
    assert.equal(metrics.value('capt_runs', { phase: 'Queued' }), 1)
    assert.equal(metrics.value('capt_run_queue_oldest_seconds'), 30)
    await report({ run: { phase: 'Failed', finishedAt: '2026-01-01T00:00:40Z' }, lastError: { kind: 'capacity' } })
    assert.equal(metrics.value('capt_run_faults_total', { class: 'capacity' }), 1)
    assert.equal(metrics.value('capt_planned_changes_total', { action: 'add' }), 2)
    assert.equal(metrics.value('capt_run_queue_oldest_seconds'), 0)
    assert.equal(metrics.value('capt_deletion_oldest_seconds', { kind: 'WorkspaceTemplateApply' }), 0)
    assert.deepEqual(cluster.requests, [], 'and nothing is asked of the API for them')
  })
})
