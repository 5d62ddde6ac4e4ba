// A run in a Job whose pod cannot reach the API server for minutes, while its manager can: nobody takes the pod for dead, Terraform
// goes on, and what it made meanwhile is saved once the API is back.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LeaseKind, SecretKind, WorkspaceTemplateApply } from '#api'
import {
  leaseName,
  loadState,
  readState,
  renderWorkspace,
  type StartRequest,
  suffixOf,
  type WorkspaceView,
} from '#engine'
import { loadKubeconfig } from '#kube'
import { anApply, aTemplate } from '#testing'
import { jobWorld } from '../support/engine/job-world.ts'
import { startProxy } from './proxy.ts'

/** More than three durations of the Lease, after which an absent pod would count as dead. */
const OUTAGE_SECONDS = 200
const RESOURCES = ['terraform_data.after', 'terraform_data.before', 'terraform_data.during']
const MODULE = `
resource "terraform_data" "before" {}
resource "terraform_data" "during" {
  input = terraform_data.before.id
  provisioner "local-exec" { command = "sleep 60" }
}
resource "terraform_data" "after" { input = terraform_data.during.id }
`

it('A run in a Job survives minutes without the API server, and makes everything once', {
  timeout: 600_000,
}, async () => {
  const world = await jobWorld()
  const access = await loadKubeconfig({ path: world.kubeconfig })
  const proxy = await startProxy(Number(new URL(access.server).port))
  try {
    const caData = Buffer.from(access.ca ?? '').toString('base64')
    const engine = await world.jobEngine({ access: { server: `https://127.0.0.1:${proxy.port}`, caData } })
    const apply = anApply({}, { name: 'outage' })
    const { metadata, apiVersion, kind } = await world.create(WorkspaceTemplateApply, apply)
    const owner = { namespace: 'default', name: metadata.name, uid: metadata.uid ?? '', apiVersion, kind }
    const rendering = renderWorkspace(aTemplate(MODULE), apply)
    assert.ok(rendering.ok)
    const { workspace } = rendering
    const request: StartRequest = { owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 500 }
    const until = async (seconds: number, test: (view: WorkspaceView) => boolean): Promise<WorkspaceView> => {
      for (const end = Date.now() + seconds * 1000; ; ) {
        const view = await engine.observe(owner)
        if (test(view)) return view
        assert.ok(Date.now() < end, `it never came to that: ${JSON.stringify(view)}`)
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
    }
    const lease = () =>
      world.connection.objects.get(LeaseKind, { namespace: 'default', name: leaseName(suffixOf(owner)) })

    await engine.start(request)
    const isAtWork = ({ record }: WorkspaceView) =>
      record?.inFlight?.addresses.some(({ address }) => address === 'terraform_data.during') ?? false
    const { id } = (await until(120, isAtWork)).record!.run!
    proxy.cut()
    const cutAt = Date.now()
    const held = await lease()
    while (Date.now() < cutAt + OUTAGE_SECONDS * 1000) {
      const { record, activity } = await engine.observe(owner)
      assert.deepEqual([record?.run?.id, record?.run?.phase, activity === 'idle'], [id, 'Apply', false])
      await new Promise((resolve) => setTimeout(resolve, 2000))
    }
    assert.deepEqual(await lease(), held, 'nothing got through, and nobody took the lock')
    proxy.heal()
    const { record } = await until(120, ({ activity }) => activity === 'idle')
    assert.partialDeepStrictEqual(record?.run, { id, phase: 'Succeeded', resumed: 0 })
    assert.deepEqual(record?.suspects ?? [], [])
    const state = readState((await loadState(world.connection.objects, owner))!)
    assert.deepEqual([...(state?.addresses ?? [])].sort(), RESOURCES)
    const { job } = record!.run!
    assert.equal(await world.connection.objects.get(SecretKind, job!), undefined, 'its credentials are gone')
  } finally {
    await proxy.close()
    await world.close()
  }
})
