// The engine around its runners, with runners that do as the test says: when a run is over, lost, queued or none of ours.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Lease, LeaseKind, SecretKind, WorkspaceTemplateApply } from '#api'
import { KubeError } from '#kube'
import { type Clock, silentLog, systemClock } from '#lib'
import { anApply, aTemplate, manualClock, memoryCluster } from '#testing'
import { HOLDER_ANNOTATION } from '../lock/lease.ts'
import { identityOf, livenessOf } from '../lock/processes.ts'
import { leaseName, suffixOf } from '../names.ts'
import { defaultLimits } from '../queue/limits.ts'
import { readRecord, writeRecord } from '../record/record-store.ts'
import { renderWorkspace } from '../render/render.ts'
import { retryingObjects } from '../retrying-objects.ts'
import { folderPath } from '../runner/inputs/folder.ts'
import type { Handover } from '../runner/record/handover.ts'
import { ownFlags } from './launch.ts'
import { createLocalEngine } from './local-engine.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-local-'))
after(() => rmSync(root, { recursive: true, force: true }))
const program = (name: string, text: string) => {
  writeFileSync(join(root, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return join(root, name)
}
const terraform = program('terraform', `echo '{"terraform_version":"1.11.4"}'`)
/** Waits for its word, closes its run in the report, as a runner does, then takes its time to end. */
const CLOSES = `cat >/dev/null; sed -e 's/"phase":"Init"/"phase":"Succeeded"/' -e 's/.*"seen":{"record":\\(.*\\),"version":"[^"]*"}.*/{"record":\\1,"saved":true}/' "$3/request.json" > "$3/report.json"`

async function open(runner: string, concurrency = 4, clock: Clock = systemClock) {
  const { objects, failNext } = memoryCluster()
  const workDir = mkdtempSync(join(root, 'work-'))
  const engine = await createLocalEngine({
    objects,
    workDir,
    clock,
    log: silentLog,
    limits: defaultLimits('local', concurrency),
    terraform: { binary: terraform },
    kubeconfigForRunner: 'none',
    runner: [runner],
  })
  const start = async (name: string, basedOn?: { runId: string | undefined }, module?: string) => {
    const { metadata, apiVersion, kind } = await objects
      .create(WorkspaceTemplateApply, anApply({}, { name }))
      .catch(() => anApply({}, { name }))
    const owner = { namespace: 'default', name, uid: metadata.uid ?? '', apiVersion, kind }
    const rendering = renderWorkspace(aTemplate(module), anApply())
    assert.ok(rendering.ok)
    const { workspace } = rendering
    await engine.start({
      owner,
      verb: 'apply',
      hash: workspace.hash,
      workspace,
      timeoutSeconds: 60,
      ...(basedOn ? { basedOn } : {}),
    })
    return owner
  }
  const until = async (owner: { namespace: string; name: string }, activity: string) => {
    const began = Date.now()
    while ((await engine.observe(owner)).activity !== activity) {
      assert.ok(Date.now() - began < 10_000, `it never became ${activity}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return Date.now() - began
  }
  return { engine, objects, failNext, start, until, workDir }
}

/** What is left when nobody needs the rest. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

describe('a runner', () => {
  it('is not bound to the small heap of a manager: one state may be larger than a fleet', () => {
    const flags = ['--max-old-space-size=36', '--max-semi-space-size=1']
    assert.deepEqual(ownFlags(flags), ['--max-semi-space-size=1'])
  })
})

describe('the local engine', () => {
  it('takes a run for over only when its runner has ended, whatever its report says', async () => {
    const { engine, start, until } = await open(program('slow', `${CLOSES}; sleep 0.8`))
    const owner = await start('a')
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.equal((await engine.observe(owner)).activity, 'running')
    await start('a')
    await until(owner, 'idle')
    assert.equal((await engine.observe(owner)).record?.run?.phase, 'Succeeded')
    await engine.stop()
  })

  it('takes a runner that ends without a word for lost, and says what it said', async () => {
    const { engine, start, until, objects } = await open(program('broken', 'echo cannot reach the server >&2; exit 1'))
    const owner = await start('a')
    await until(owner, 'lost')
    await engine.abandon(owner)
    const fault = (await readRecord(objects, owner))?.record.run?.fault
    assert.equal(fault?.code, 'CAPT_RUN_LOST')
    assert.match(fault?.message ?? '', /its last log line: cannot reach the server/)
    await engine.stop()
  })

  it('runs as many at once as it may, the others after them', async () => {
    const { engine, start, until } = await open(program('short', `${CLOSES}; sleep 0.2`), 1)
    const owners = [await start('a'), await start('b'), await start('c')]
    assert.equal((await engine.observe(owners[2]!)).record?.run?.phase, 'Queued')
    for (const owner of owners) await until(owner, 'idle')
    await engine.stop()
  })

  it('keeps a long line small: nobody waits with a whole module in hand', async () => {
    const { engine, start } = await open(program('stays', `${CLOSES}; sleep 60`), 1)
    const first = await start('first')
    const before = heapInUse()
    const lines = Array.from({ length: 250 }, (_, i) => `# what a module says in its line ${i}, more or less`)
    for (let i = 0; i < 100; i++) await start(`n-${i}`, undefined, [`# module ${i}`, ...lines].join('\n'))
    const each = (heapInUse() - before) / 100
    const { runner } = (await engine.observe(first)).record!.run!
    await engine.stop()
    process.kill(runner!.pid, 'SIGKILL')
    assert.ok(each < 15_000, `${each} bytes for each, with a module of ${lines.join('\n').length}`)
  })

  it('takes a run out of the line when it is cancelled before it began', async () => {
    const { engine, start, until, objects } = await open(program('holds', `${CLOSES}; sleep 0.5`), 1)
    const first = await start('a')
    const second = await start('b')
    const run = (await engine.observe(second)).record!.run!
    await engine.cancel(second, run.id)
    assert.equal((await readRecord(objects, second))?.record.run?.phase, 'Cancelled')
    await until(first, 'idle')
    assert.equal((await engine.observe(second)).activity, 'idle')
    await engine.stop()
  })

  it('looks again at a run in the line of another manager: it is lost when that manager ends', async () => {
    const clock = manualClock()
    const { engine, start, objects } = await open(program('one', `${CLOSES}; sleep 5`), 1, clock)
    await start('a')
    const owner = await start('b')
    await engine.stop()
    const other = spawn('sleep', ['60'])
    const holder = identityOf(other.pid!)!
    const seen = (await readRecord(objects, owner))!
    await writeRecord(objects, owner, seen, { ...seen.record, run: { ...seen.record.run!, holder } })
    const workDir = mkdtempSync(join(root, 'work-'))
    const successor = await createLocalEngine({
      objects,
      workDir,
      clock,
      log: silentLog,
      terraform: { binary: terraform },
      kubeconfigForRunner: 'none',
    })
    const received: string[] = []
    successor.onChange(({ name }) => received.push(name))
    assert.equal((await successor.observe(owner)).activity, 'running')
    const ended = once(other, 'exit')
    other.kill('SIGKILL')
    await ended
    assert.deepEqual(received, [])
    await clock.advance(10_000)
    assert.deepEqual(received, ['b'], 'nobody else would have said so')
    assert.equal((await successor.observe(owner)).activity, 'lost')
    await successor.stop()
  })

  it('starts nothing upon older news', async () => {
    const { engine, start, until, objects } = await open(program('quick', CLOSES))
    const owner = await start('a', { runId: undefined })
    await until(owner, 'idle')
    const { id } = (await readRecord(objects, owner))!.record.run!
    await start('a', { runId: undefined })
    assert.equal((await readRecord(objects, owner))?.record.run?.id, id)
    await engine.stop()
  })
})

describe('a runner that is about to begin', () => {
  /** Keeps what it receives, and stays. */
  const LISTENS = 'cat > "$3/received.part"; mv "$3/received.part" "$3/received"; exec sleep 60'

  const received = async (folder: string): Promise<Handover> => {
    for (let i = 0; i < 1000 && !existsSync(join(folder, 'received')); i++) await pass(10)
    return JSON.parse(readFileSync(join(folder, 'received'), 'utf8')) as Handover
  }

  it('is named in the record and in the lock before it receives its request', async () => {
    const { engine, start, objects } = await open(program('listens', LISTENS))
    const owner = await start('a')
    const { runner, folder } = (await readRecord(objects, owner))!.record.run!
    const word = await received(folder)
    const lease = await objects.get<Lease>(LeaseKind, { namespace: 'default', name: leaseName(suffixOf(owner)) })
    try {
      assert.equal(livenessOf(runner!), 'alive')
      assert.deepEqual(word.seen.record.run?.runner, runner)
      assert.equal(word.isLocked, true)
      assert.deepEqual(word.saved, { parts: [] })
      assert.match(lease?.metadata.annotations?.[HOLDER_ANNOTATION] ?? '', new RegExp(`"pid":${runner!.pid},`))
    } finally {
      process.kill(runner!.pid, 'SIGKILL')
      await engine.stop()
    }
  })

  it('must ask for itself when the lock is a person’s', async () => {
    const { engine, start, objects } = await open(program('listens', LISTENS))
    const name = leaseName(suffixOf({ namespace: 'default', name: 'a' }))
    const spec = { holderIdentity: 'somebody' }
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'default', name },
      spec,
    }
    await objects.create<Lease>(LeaseKind, lease as Lease)
    const owner = await start('a')
    const { runner, folder } = (await readRecord(objects, owner))!.record.run!
    const { isLocked, saved } = await received(folder)
    process.kill(runner!.pid, 'SIGKILL')
    assert.deepEqual({ isLocked, saved }, { isLocked: false, saved: undefined })
    await engine.stop()
  })

  it('does nothing at all when the record could not be written', async () => {
    const { engine, start, until, failNext, workDir } = await open(program('began', `${CLOSES}; touch "$3/began"`), 1)
    failNext('create', SecretKind, 'Unreachable')
    await assert.rejects(start('a'), KubeError)
    const owner = await start('b')
    await until(owner, 'idle')
    const folderOf = (name: string) => folderPath(workDir, { namespace: 'default', name })
    assert.ok(existsSync(join(folderOf('b'), 'began')), 'its place was free again')
    assert.ok(!existsSync(join(folderOf('a'), 'began')))
    assert.ok(!existsSync(join(folderOf('a'), 'request.json')))
    await engine.stop()
  })
})

describe('retries while the API server is away', () => {
  it('has an end, counted from the first failure', async () => {
    const clock = manualClock()
    const { objects, failNext } = memoryCluster()
    failNext('get', WorkspaceTemplateApply, 'Unreachable', { times: 1000 })
    const retrying = retryingObjects(objects, { clock, log: silentLog, until: () => clock.monotonic() + 60_000 })
    const asked = assert.rejects(retrying.get(WorkspaceTemplateApply, { name: 'a' }), KubeError)
    for (let i = 0; i < 30; i++) await clock.advance(5_000)
    await asked
    assert.ok(clock.monotonic() <= 150_000)
  })
})
