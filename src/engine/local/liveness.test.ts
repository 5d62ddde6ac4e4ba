// The engine and runners that are elsewhere, hang, or are asked to end, with runners that do as the test says.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type Lease, LeaseKind, PodKind, SecretKind, WorkspaceTemplateApply } from '#api'
import { type Clock, silentLog, systemClock } from '#lib'
import { anApply, aTemplate, manualClock, memoryCluster } from '#testing'
import { acquireLock } from '../lock/lock.ts'
import { announcePod, livenessOf, ownIdentity, type ProcessIdentity } from '../lock/processes.ts'
import { leaseName, recordName, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import { defaultLimits } from '../queue/limits.ts'
import { closeRun } from '../record/record.ts'
import { readRecord, writeRecord } from '../record/record-store.ts'
import { declareGone } from '../recovery/restore.ts'
import { renderWorkspace } from '../render/render.ts'
import { createLocalEngine } from './local-engine.ts'

const OWN_POD = { namespace: 'capt-system', name: 'capt-new', uid: 'new' }
announcePod(OWN_POD)

const root = mkdtempSync(join(tmpdir(), 'capt-liveness-'))
after(() => rmSync(root, { recursive: true, force: true }))
const program = (name: string, text: string) => {
  writeFileSync(join(root, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return join(root, name)
}
const terraform = program('terraform', `echo '{"terraform_version":"1.11.4"}'`)
const STAYS = 'cat >/dev/null; exec sleep 600'

async function open(runner: string, options: { readonly concurrency?: number; readonly clock?: Clock } = {}) {
  const { concurrency = 4, clock = systemClock } = options
  const cluster = memoryCluster()
  const { objects } = cluster
  const engine = await createLocalEngine({
    objects,
    workDir: mkdtempSync(join(root, 'work-')),
    clock,
    log: silentLog,
    limits: defaultLimits('local', concurrency),
    terraform: { binary: terraform },
    kubeconfigForRunner: 'none',
    runner: [program(`runner-${Math.random()}`, runner)],
  })
  const start = async (name: string, verb: 'apply' | 'destroy' = 'apply'): Promise<Owner> => {
    const { metadata, apiVersion, kind } = await objects
      .create(WorkspaceTemplateApply, anApply({}, { name }))
      .catch(() => anApply({}, { name }))
    const owner = { namespace: 'default', name, uid: metadata.uid ?? '', apiVersion, kind }
    const rendering = renderWorkspace(aTemplate(), anApply())
    assert.ok(rendering.ok)
    const { workspace } = rendering
    await engine.start({ owner, verb, hash: workspace.hash, workspace, timeoutSeconds: 60 })
    return owner
  }
  const recordOf = async (owner: Owner) => (await readRecord(objects, owner))!
  /** Makes the run of an apply that of a runner (or of a waiting manager) in another pod. */
  const moveTo = async (owner: Owner, who: ProcessIdentity, hasRunner = true) => {
    const seen = await recordOf(owner)
    const { runner, ...run } = seen.record.run!
    const key = { namespace: 'default', name: leaseName(suffixOf(owner)) }
    await until(async () => (await objects.get<Lease>(LeaseKind, key))?.spec?.holderIdentity === run.id)
    process.kill(runner!.pid, 'SIGKILL')
    await until(() => engine.running === 0)
    const moved = hasRunner ? { ...run, runner: who } : { ...run, phase: 'Queued' as const, holder: who }
    const now = await recordOf(owner)
    await writeRecord(objects, owner, now, { ...now.record, run: moved })
    await objects.delete(LeaseKind, key).catch(() => undefined)
    if (hasRunner)
      await acquireLock(objects, clock, { owner, runId: run.id, verb: run.verb, holder: who, toolVersion: '1.11.4' })
  }
  return { ...cluster, engine, start, recordOf, moveTo, clock }
}

async function until(test: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await test())) {
    assert.ok(Date.now() < deadline, 'it never happened')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const inPod = (uid: string): ProcessIdentity => ({
  ...ownIdentity(),
  pid: 7,
  host: `capt-${uid}`,
  space: 'pid:[1]',
  pod: { namespace: 'capt-system', name: `capt-${uid}`, uid },
})

describe('a run in another pod', () => {
  it('is unreachable while its pod lives in silence, and an operator’s statement takes effect at once', async () => {
    const clock = manualClock()
    const { engine, start, moveTo, recordOf, objects, seed } = await open(STAYS, { clock })
    const owner = await start('a')
    seed(PodKind, pod('old', 'Running'))
    await moveTo(owner, inPod('old'))
    await engine.observe(owner)
    await clock.advance(61_000)
    assert.equal((await engine.observe(owner)).activity, 'unreachable')
    await declareGone(objects, clock, owner)
    const view = await engine.observe(owner)
    assert.equal(view.activity, 'idle', 'nothing is remembered of a run that others may change')
    const { run, history } = (await recordOf(owner)).record
    assert.match(run?.fault?.message ?? '', /declared its runner on capt-old gone/)
    assert.equal(history[0]?.phase, 'Lost')
    await engine.stop()
  })

  it('is resumed without a person when its pod has ended, and its lock is released for any other run', async () => {
    for (const verb of ['apply', 'destroy'] as const) {
      const clock = manualClock()
      const { engine, start, moveTo, recordOf, seed, peek } = await open(STAYS, { clock })
      const owner = await start('a')
      seed(PodKind, pod('old', 'Failed'))
      await moveTo(owner, inPod('old'))
      assert.equal((await engine.observe(owner)).activity, 'lost')
      const before = (await recordOf(owner)).record.run!
      await start('a', verb)
      const { run } = (await recordOf(owner)).record
      assert.equal(run?.id === before.id, verb === 'apply')
      assert.equal(livenessOf(run!.runner!), 'alive')
      await until(
        () =>
          peek<Lease>(LeaseKind, { namespace: 'default', name: leaseName(suffixOf(owner)) })?.spec?.holderIdentity ===
          run!.id,
      )
      process.kill(run!.runner!.pid, 'SIGKILL')
      await engine.stop()
    }
  })

  it('that was closed is no obstacle when its pod died before it released the lock', async () => {
    const clock = manualClock()
    const { engine, start, moveTo, recordOf, seed, objects, peek } = await open(STAYS, { clock })
    const owner = await start('a')
    seed(PodKind, pod('old', 'Failed'))
    await moveTo(owner, inPod('old'))
    const seen = await recordOf(owner)
    await writeRecord(objects, owner, seen, closeRun(seen.record, 'Succeeded', '2026-01-01T00:00:00Z'))
    await start('a', 'destroy')
    const { run } = (await recordOf(owner)).record
    assert.equal(run?.verb, 'destroy')
    const key = { namespace: 'default', name: leaseName(suffixOf(owner)) }
    await until(() => peek<Lease>(LeaseKind, key)?.spec?.holderIdentity === run!.id)
    process.kill(run!.runner!.pid, 'SIGKILL')
    await engine.stop()
  })

  it('that was closed is no obstacle when a person says that its holder is gone', async () => {
    const clock = manualClock()
    const { engine, start, moveTo, recordOf, seed, objects, peek } = await open(STAYS, { clock })
    const owner = await start('a')
    seed(PodKind, pod('old', 'Running'))
    await moveTo(owner, inPod('old'))
    const seen = await recordOf(owner)
    await writeRecord(objects, owner, seen, closeRun(seen.record, 'Succeeded', '2026-01-01T00:00:00Z'))
    const holder = () =>
      peek<Lease>(LeaseKind, { namespace: 'default', name: leaseName(suffixOf(owner)) })?.spec?.holderIdentity
    assert.equal(holder(), seen.record.run!.id)
    await declareGone(objects, clock, owner)
    assert.ok(!holder())
    await engine.stop()
  })

  it('that waited in line is started here when that manager does not go on: nothing had begun', async () => {
    const clock = manualClock()
    const { engine, start, moveTo, seed } = await open(STAYS, { clock })
    const owner = await start('a')
    seed(PodKind, pod('old', 'Running'))
    await moveTo(owner, inPod('old'), false)
    assert.equal((await engine.observe(owner)).activity, 'running')
    await clock.advance(61_000)
    assert.equal((await engine.observe(owner)).activity, 'lost')
    await engine.stop()
  })
})

describe('a runner that hangs', () => {
  it('is killed past its deadline when it does not renew its Lease, and not before', async () => {
    const clock = manualClock()
    const { engine, start, recordOf } = await open(STAYS, { clock })
    const owner = await start('a')
    const runner = (await recordOf(owner)).record.run!.runner!
    process.kill(runner.pid, 'SIGSTOP')
    // Timeout, grace period, time to save.
    await clock.advance((60 + 120 + 60) * 1000 - 1)
    await clock.advance(60_000)
    assert.equal(livenessOf(runner), 'alive', 'one look at the Lease is no silence')
    await clock.advance(60_000)
    await until(() => livenessOf(runner) === 'dead')
    await until(async () => (await engine.observe(owner)).activity === 'lost')
    await engine.stop()
  })

  it('is killed after a cancel that it does not answer', async () => {
    const clock = manualClock()
    const { engine, start, recordOf } = await open(STAYS, { clock })
    const owner = await start('a')
    const { id, runner } = (await recordOf(owner)).record.run!
    process.kill(runner!.pid, 'SIGSTOP')
    await engine.cancel(owner, id)
    await clock.advance((120 + 60) * 1000)
    await clock.advance(60_000)
    await until(() => livenessOf(runner!) === 'dead')
    await engine.stop()
  })

  it('is asked to end also when its record was deleted under it', async () => {
    const { engine, start, recordOf, objects } = await open(STAYS)
    const owner = await start('a')
    const { id, runner } = (await recordOf(owner)).record.run!
    const name = recordName(suffixOf(owner))
    await objects.patch(
      SecretKind,
      { namespace: 'default', name },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    )
    await objects.delete(SecretKind, { namespace: 'default', name })
    await engine.cancel(owner, id)
    await until(() => livenessOf(runner!) === 'dead')
    await engine.stop()
  })

  it('lives as long as it renews its Lease', async () => {
    const clock = manualClock()
    const { engine, start, recordOf, objects } = await open(STAYS, { clock })
    const owner = await start('a')
    const { id, runner } = (await recordOf(owner)).record.run!
    const key = { namespace: 'default', name: leaseName(suffixOf(owner)) }
    await until(async () => (await objects.get<Lease>(LeaseKind, key))?.spec?.holderIdentity === id)
    for (let i = 0; i < 60; i++) {
      await clock.advance(15_000)
      const renewTime = new Date(clock.now()).toISOString()
      await objects.patch(LeaseKind, key, { type: 'merge', body: { spec: { renewTime } } })
    }
    assert.equal(livenessOf(runner!), 'alive')
    process.kill(runner!.pid, 'SIGKILL')
    await engine.stop()
  })
})

describe('draining', () => {
  it('waits for runners to end by themselves, and starts nothing that waits in line', async () => {
    const { engine, start, recordOf } = await open('cat >/dev/null; sleep 0.5', { concurrency: 1 })
    const first = await start('a')
    const second = await start('b')
    assert.equal(engine.running, 1)
    await engine.drain({ askAfterMs: 60_000 })
    assert.equal(engine.running, 0)
    assert.equal(livenessOf((await recordOf(first)).record.run!.runner!), 'dead')
    assert.equal((await recordOf(second)).record.run?.runner, undefined)
    await start('c')
    assert.equal(engine.running, 0)
    await engine.stop()
  })

  it('asks runners to stop when the grace period is over or a second signal comes, and kills only when asked to', async () => {
    const POLITE = 'trap "exit 0" TERM; cat >/dev/null; while :; do sleep 0.05; done'
    const DEAF = 'trap "" TERM; cat >/dev/null; while :; do sleep 0.05; done'
    const hurry = new AbortController()
    for (const [runner, options] of [
      [POLITE, { askAfterMs: 300 }],
      [POLITE, { askAfterMs: 600_000, hurry: hurry.signal }],
      [DEAF, { askAfterMs: 0, killAfterMs: 200 }],
    ] as const) {
      const { engine, start, recordOf } = await open(runner)
      const owner = await start('a')
      const draining = engine.drain(options)
      hurry.abort()
      await draining
      assert.equal(livenessOf((await recordOf(owner)).record.run!.runner!), 'dead')
      await engine.stop()
    }
  })
})

function pod(uid: string, phase: string) {
  const metadata = { namespace: 'capt-system', name: `capt-${uid}`, uid }
  return { apiVersion: 'v1', kind: 'Pod', metadata, status: { phase } }
}
