// The manager as a management cluster sees it: which kinds it lists and watches, and what it tells in numbers.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ALL_KINDS, toCustomResourceDefinition, WorkspaceTemplateApply } from '#api'
import { startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { readKubeconfigText } from '#kube'
import { systemClock } from '#lib'
import { anApply, collectingMetrics, handWoundClock, memoryCluster } from '#testing'
import { CONTROLLER_GROUPS } from '../src/app-controllers.ts'
import { type ManagerOptions, startManager } from '../src/app-manager.ts'
import { measureRuns } from '../src/app-metrics.ts'
import type { Request } from './story-world.ts'

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
    concurrentRuns: 1,
    logLevel: 'error',
    logTo: { write: () => undefined, isTerminal: false, columns: 80 },
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

  it('watches those of its own namespace when it is told to', async () => {
    const requests = await begin({ namespace: 'team-a', watchSecrets: true })
    assert.deepEqual(new Set(listsOf(requests, 'secrets')), new Set(['/api/v1/namespaces/team-a/secrets']))
  })

  it('does not watch Secrets of every namespace, whatever it is told', async () => {
    await assert.rejects(begin({ watchSecrets: true }), { code: 'CAPT_USAGE' })
  })
})

describe('the numbers of runs', () => {
  it('say what is going on and how runs ended, from what is cached', async () => {
    const clock = handWoundClock()
    const cluster = memoryCluster({ clock })
    const metrics = collectingMetrics()
    const { informers, others } = cluster
    informers.register(WorkspaceTemplateApply)
    informers.start()
    measureRuns(informers, metrics, clock)
    const key = { namespace: 'default', name: 'demo' }
    const report = (status: object) =>
      others.patch(WorkspaceTemplateApply, key, { type: 'merge', body: { status } }, { subresource: 'status' })
    await others.create(WorkspaceTemplateApply, anApply({}, key))
    const startedAt = '2026-01-01T00:00:00Z'
    await report({ phase: 'Running', run: { id: 'a', verb: 'apply', phase: 'Apply', startedAt } })
    await clock.advance(30_000)
    assert.equal(metrics.value('capt_runs_in_progress'), 1)
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
    assert.deepEqual(cluster.requests, [], 'and nothing is asked of the API for them')
  })
})
