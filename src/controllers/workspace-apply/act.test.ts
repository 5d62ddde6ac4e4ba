import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { APPLY_FINALIZER, WorkspaceTemplateApply } from '#api'
import type { Engine } from '#engine'
import type { World } from '#runtime'
import { anApply, memoryCluster } from '#testing'
import { actOnApply } from './act.ts'
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
