import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  APPLY_FINALIZER,
  BLOCK_MOVE_ANNOTATION,
  CLUSTER_NAME_LABEL,
  WORKSPACE_ID_ANNOTATION,
  WorkspaceTemplateApply,
} from '#api'
import type { Engine, RunRecord, StartRequest } from '#engine'
import type { World } from '#runtime'
import { anApply, memoryCluster } from '#testing'
import { actOnApply } from './act.ts'
import type { Action } from './actions.ts'
import type { Observed } from './observe.ts'

describe('an apply that nothing is kept for any more', () => {
  const KEY = { namespace: 'default', name: 'demo' }
  const going = async () => {
    const cluster = memoryCluster()
    const made = anApply({}, { name: KEY.name, namespace: KEY.namespace, finalizers: [APPLY_FINALIZER] })
    await cluster.others.create(WorkspaceTemplateApply, made)
    await cluster.others.delete(WorkspaceTemplateApply, KEY)
    const apply = (await cluster.others.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, KEY))!
    const release = () =>
      actOnApply({} as Engine, { objects: cluster.objects } as World, { apply } as Observed, { do: 'remove-finalizer' })
    return { cluster, release }
  }

  it('is released although it was changed meanwhile', async () => {
    const { cluster, release } = await going()
    const body = { metadata: { annotations: { changed: 'meanwhile' } } }
    await cluster.others.patch(WorkspaceTemplateApply, KEY, { type: 'merge', body })
    await release()
    assert.equal(await cluster.others.get(WorkspaceTemplateApply, KEY), undefined)
  })

  it('is left to the next reconcile when it keeps changing', async () => {
    const { cluster, release } = await going()
    cluster.failNext('patch', WorkspaceTemplateApply, 'Conflict', { times: 10 })
    await assert.rejects(release(), /Conflict/)
  })

  it('is not mistaken for another one of its name', async () => {
    const { cluster, release } = await going()
    const body = { metadata: { finalizers: [] } }
    await cluster.others.patch(WorkspaceTemplateApply, KEY, { type: 'merge', body })
    const next = anApply({}, { name: KEY.name, namespace: KEY.namespace, finalizers: [APPLY_FINALIZER] })
    await cluster.others.create(WorkspaceTemplateApply, next)
    await release()
    const left = await cluster.others.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, KEY)
    assert.deepEqual(left?.metadata.finalizers, [APPLY_FINALIZER])
  })
})

describe('an apply whose run is started', () => {
  const KEY = { namespace: 'default', name: 'demo' }
  type Made = Parameters<typeof anApply>[1]

  const HELD = { labels: { [CLUSTER_NAME_LABEL]: 'demo' }, annotations: { [BLOCK_MOVE_ANNOTATION]: 'true' } }

  async function doAction(
    action: Action,
    metadata: Partial<NonNullable<Made>>,
    record?: Partial<RunRecord>,
    status?: WorkspaceTemplateApply['status'],
  ) {
    const cluster = memoryCluster()
    await cluster.others.create(WorkspaceTemplateApply, anApply({}, { ...KEY, ...metadata }))
    const made = (await cluster.others.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, KEY))!
    const apply = { ...made, ...(status ? { status } : {}) }
    const requests: StartRequest[] = []
    const engine = { name: 'none', start: async (request: StartRequest) => void requests.push(request) }
    const world = { objects: cluster.objects, events: { emit: () => undefined } } as unknown as World
    const observed = { apply, owner: KEY, view: { record, activity: 'idle' } } as unknown as Observed
    await actOnApply(engine as unknown as Engine, world, observed, action)
    const after = (await cluster.others.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, KEY))!
    return {
      uid: apply.metadata.uid,
      annotations: after.metadata.annotations ?? {},
      request: requests[0]!,
      writes: cluster.requests.filter(({ verb }) => verb === 'patch').length,
    }
  }
  const start = (
    metadata: Partial<NonNullable<Made>> = {},
    record?: Partial<RunRecord>,
    status?: WorkspaceTemplateApply['status'],
  ) => doAction({ do: 'start-run', verb: 'apply', hash: 'h' }, metadata, record, status)

  it('names its workspace before the first run, in the write that holds off a move', async () => {
    const { uid, annotations, request, writes } = await start({ labels: { [CLUSTER_NAME_LABEL]: 'demo' } })
    assert.deepEqual(annotations, { [WORKSPACE_ID_ANNOTATION]: uid, [BLOCK_MOVE_ANNOTATION]: 'true' })
    assert.deepEqual(request.named, { workspaceId: uid, isBegun: false })
    assert.equal(writes, 1)
  })

  it('was made with a hold on its move: no write at the start, and the end of the hold names its workspace', async () => {
    const { uid, annotations, request, writes } = await start(HELD)
    assert.deepEqual([annotations, writes], [HELD.annotations, 0])
    assert.deepEqual(request.named, { workspaceId: uid, isBegun: false })
    const ended = await doAction({ do: 'unblock-move' }, HELD, { workspaceId: 'id-1' })
    assert.deepEqual([ended.annotations, ended.writes], [{ [WORKSPACE_ID_ANNOTATION]: 'id-1' }, 1])
  })

  it('has begun when its status names a run, although its workspace is not named yet', async () => {
    const run = { id: 'run-1', verb: 'apply', phase: 'Apply' } as const
    const { uid, request } = await start(HELD, undefined, { run })
    assert.deepEqual(request.named, { workspaceId: uid, isBegun: true })
  })

  it('asks for what the named workspace has when its record is missing', async () => {
    const { request, writes } = await start({ annotations: { [WORKSPACE_ID_ANNOTATION]: 'id-1' } })
    assert.deepEqual(request.named, { workspaceId: 'id-1', isBegun: true })
    assert.equal(writes, 0)
  })

  it('names the workspace of its record, which an import or another version may have made', async () => {
    for (const metadata of [{}, { annotations: { [WORKSPACE_ID_ANNOTATION]: 'id-1' } }]) {
      const made = await start(metadata, { workspaceId: 'id-2' })
      assert.equal(made.annotations[WORKSPACE_ID_ANNOTATION], 'id-2')
      assert.equal(made.request.named, undefined)
    }
  })
})
