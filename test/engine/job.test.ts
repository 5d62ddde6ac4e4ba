// The engine `job` over the embedded API: the case file of all engines, and what is true of Jobs alone.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ConfigMap, ConfigMapKind, JobKind, SecretKind, WorkspaceTemplateApply } from '#api'
import { type Engine, renderWorkspace, type StartRequest, type WorkspaceView } from '#engine'
import { systemClock } from '#lib'
import { anApply, aTemplate } from '#testing'
import { engineContract } from '../../src/engine/contract.ts'
import { acquireLock, observeLock } from '../../src/engine/lock/lock.ts'
import { hasProgram, type JobWorld, jobWorld } from '../support/engine/job-world.ts'
import { hasTerraform } from '../support/engine/world.ts'
import { reportMissing } from '../support/tools.ts'

if (!hasProgram) reportMissing('dist/program (make build)')
else if (hasTerraform)
  engineContract('job', async () => {
    const world = await jobWorld()
    const engine = await world.jobEngine()
    return { objects: world.connection.objects, engine, close: () => world.close() }
  })

const SLOW = `
resource "terraform_data" "first" { input = "made" }
resource "terraform_data" "slow" {
  input      = terraform_data.first.id
  provisioner "local-exec" { command = "sleep 20" }
}
`

describe('a run in a Job', { skip: !hasProgram || !hasTerraform }, () => {
  let world: JobWorld
  let engine: Engine
  let serial = 0
  before(async () => {
    world = await jobWorld()
    engine = await world.jobEngine()
  })
  after(() => world.close())

  /** Starts a run that takes longer than the test, and returns when Terraform is at work on its second resource. */
  const begin = async (isHeld = false, module = SLOW): Promise<StartRequest> => {
    const apply = anApply({}, { name: `job-${++serial}` })
    const { metadata, apiVersion, kind } = await world.create(WorkspaceTemplateApply, apply)
    const owner = { namespace: 'default', name: metadata.name, uid: metadata.uid ?? '', apiVersion, kind }
    const rendering = renderWorkspace(aTemplate(module), apply)
    assert.ok(rendering.ok)
    const { workspace } = rendering
    const request: StartRequest = { owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 120 }
    await engine.start(request)
    if (!isHeld)
      await observed(
        request,
        ({ record }) => record?.inFlight?.addresses.some(({ unconfirmed }) => !unconfirmed) ?? false,
      )
    return request
  }
  const observed = async ({ owner }: StartRequest, test: (view: WorkspaceView) => boolean): Promise<WorkspaceView> => {
    for (const end = Date.now() + 180_000; ; ) {
      const view = await engine.observe(owner)
      if (test(view)) return view
      assert.ok(Date.now() < end, `it never came to that: ${JSON.stringify(view)}`)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
  const isOver = ({ activity }: WorkspaceView) => activity !== 'running'

  it('that was killed for its memory ends with that cause, its suspects, and its lock released', async () => {
    const request = await begin()
    await world.actor.kill('OOMKilled')
    const { record, activity } = await observed(request, isOver)
    assert.equal(activity, 'idle')
    assert.partialDeepStrictEqual(record?.run, {
      phase: 'Lost',
      fault: { kind: 'memory', code: 'CAPT_RUN_OUT_OF_MEMORY' },
    })
    assert.deepEqual(
      record?.suspects.map(({ address }) => address),
      ['terraform_data.slow'],
    )
    assert.equal(record?.state?.resources ?? 1, 1, 'what was made before is saved')
    assert.equal((await observeLock(world.connection.objects, request.owner)).is, 'free')
  })

  it('whose Job somebody deletes saves its state within the grace period, and says that it was stopped', async () => {
    const request = await begin()
    const job = (await engine.observe(request.owner)).record!.run!.job!
    await world.connection.objects.delete(JobKind, job, { propagation: 'Background' })
    const { record } = await observed(request, isOver)
    assert.partialDeepStrictEqual(record?.run, { phase: 'Failed', fault: { code: 'CAPT_RUN_STOPPED' } })
    assert.ok((record?.state?.resources ?? 0) >= 1)
  })

  it('that is cancelled ends as cancelled; the credentials of the run are gone with it', async () => {
    const request = await begin()
    const { id, job } = (await engine.observe(request.owner)).record!.run!
    await engine.cancel(request.owner, id)
    const { record } = await observed(request, isOver)
    assert.equal(record?.run?.phase, 'Cancelled')
    assert.equal(await world.connection.objects.get(SecretKind, job!), undefined)
  })

  it('that has closed its run and died with its lock does not hold back the next one', async () => {
    const { objects } = world.connection
    const request = await begin(true, 'resource "terraform_data" "first" { input = "made" }')
    const { record } = await observed(request, isOver)
    const { id, runner } = record!.run!
    // Of a machine that nobody can ask.
    const holder = { ...runner!, host: 'gone', boot: 'earlier' }
    const lock = { owner: request.owner, runId: id, verb: 'apply', holder, toolVersion: '1' }
    assert.equal((await acquireLock(objects, systemClock, lock)).is, 'held')
    await engine.start({ ...request, verb: 'destroy' })
    const next = await observed(request, (view) => view.record?.run?.id !== id && isOver(view))
    assert.partialDeepStrictEqual(next.record?.run, { verb: 'destroy', phase: 'Succeeded' })
  })

  it('survives its manager: the next one adopts it and starts nothing', async () => {
    const request = await begin()
    const { id } = (await engine.observe(request.owner)).record!.run!
    await engine.stop()
    engine = await world.jobEngine()
    await engine.start(request)
    const view = await engine.observe(request.owner)
    assert.deepEqual([view.activity, view.record?.run?.id], ['running', id])
    // All three at once: manager, Job and pod.
    await engine.stop()
    await world.actor.kill()
    await world.connection.objects.delete(JobKind, view.record!.run!.job!, { propagation: 'Background' })
    engine = await world.jobEngine()
    const { record } = await engine.observe(request.owner)
    assert.ok(record?.run, 'the record has the run')
  })

  it('gets the settings of the runs, and nothing of the machine of its manager', async () => {
    const data = { HTTPS_PROXY: 'http://proxy.example:3128', TF_TOKEN_example_com: 'x', OTHER: 'y' }
    const metadata = { namespace: 'default', name: 'capt-run-env' }
    await world.create(ConfigMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as ConfigMap)
    process.env['AWS_PROFILE'] = 'of-the-manager'
    const check = 'test "$HTTPS_PROXY" = http://proxy.example:3128 && test -z "$OTHER$AWS_PROFILE"'
    const request = await begin(
      true,
      `resource "terraform_data" "x" {
      provisioner "local-exec" { command = ${JSON.stringify(check)} }
    }`,
    )
    const { record } = await observed(request, isOver)
    delete process.env['AWS_PROFILE']
    assert.equal(record?.run?.phase, 'Succeeded', JSON.stringify(record?.run?.fault))
  })

  it('whose image cannot be pulled says so while it waits', async () => {
    const state = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }
    world.actor.hold({
      containerStatuses: [{ name: 'runner', image: 'x', imageID: '', ready: false, restartCount: 0, state }],
    })
    const request = await begin(true)
    const { record, activity } = await observed(request, (view) => view.record?.run?.waitsFor !== undefined)
    assert.equal(activity, 'running')
    assert.match(record?.run?.waitsFor ?? '', /cannot be pulled: no such image .*--runner-image/)
    world.actor.hold(undefined)
  })
})
