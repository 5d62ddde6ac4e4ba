// The commands about runs, as calls: what they print, and what they change.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CANCEL_ANNOTATION, RETRY_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { createSimulatedEngine, loadState, type Owner, readRecord, readState, renderWorkspace } from '#engine'
import { silentLog, systemClock } from '#lib'
import { anApply, aTemplate, memoryCluster } from '#testing'
import type { Command, Io } from '../../src/cli/command.ts'
import { command as cancel } from '../../src/cli/commands/terraform/cancel.ts'
import { command as logs } from '../../src/cli/commands/terraform/logs.ts'
import { command as retry } from '../../src/cli/commands/terraform/retry.ts'
import { command as state } from '../../src/cli/commands/terraform/state.ts'
import { readArguments, report } from '../../src/cli/run.ts'

const MODULE = 'resource "terraform_data" "x" {\n  count = ${n}\n  input = 1\n}\noutput "n" { value = "${n}" }\n'

async function open() {
  const cluster = memoryCluster()
  const { objects } = cluster
  const engine = createSimulatedEngine({ objects, clock: systemClock, log: silentLog, resourceMs: 1 })
  const made = await objects.create(WorkspaceTemplateApply, anApply())
  const { apiVersion, kind, metadata } = made
  const owner: Owner = { namespace: 'default', name: 'demo', uid: metadata.uid ?? '', apiVersion, kind }
  const start = async (n: number) => {
    const rendering = renderWorkspace(aTemplate(MODULE), anApply({ variables: { n: String(n) } }))
    assert.ok(rendering.ok)
    const { workspace } = rendering
    await engine.start({ owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 60 })
    const hold = setInterval(() => undefined, 1000)
    while ((await engine.observe(owner)).activity === 'running') await new Promise((resolve) => setTimeout(resolve, 2))
    clearInterval(hold)
  }
  const call = async (command: Command, line: string, stdin = '') => {
    const out: string[] = []
    const err: string[] = []
    const io: Io = {
      stdout: { write: (text) => void out.push(text), isTerminal: false, columns: 120 },
      stderr: { write: (text) => void err.push(text), isTerminal: stdin !== '', columns: 120 },
      stdin: (async function* () {
        yield Buffer.from(stdin)
      })(),
      env: {},
      cwd: '/',
      clock: systemClock,
      signal: new AbortController().signal,
      colour: false,
      connect: async () => ({
        objects,
        namespace: 'default',
        server: '',
        raw: async () => ({ status: 200, body: '' }),
        close: async () => undefined,
      }),
    }
    const argv = [...command.name.split(' '), ...line.split(' ').filter(Boolean)]
    const code = await Promise.resolve()
      .then(() => command.run(readArguments(command, argv), io))
      .catch((error: unknown) => report(error, io))
    return { code, out: out.join(''), err: err.join('') }
  }
  return { ...cluster, owner, start, call, engine }
}

describe('capt logs', () => {
  it('prints the last run, a past one by the beginning of its id, and a list', async () => {
    const { call, start, objects, owner } = await open()
    assert.equal((await call(logs, 'demo')).code, 1)
    await start(1)
    const first = (await readRecord(objects, owner))!.record.run!.id
    await start(2)
    assert.match((await call(logs, 'demo')).out, /Simulated: nothing was run\nDone/)
    assert.match((await call(logs, `demo --run ${first.slice(0, 8)}`)).out, /Done/)
    assert.equal((await call(logs, 'demo --list')).out.trim().split('\n').length, 2)
    const wrong = await call(logs, 'demo --run zzz')
    assert.match(wrong.err, /no run begins with zzz {2}CAPT_RUN_UNKNOWN/)
    assert.equal((await call(logs, '')).code, 2)
  })
})

describe('capt retry and capt cancel', () => {
  it('ask by annotation, so that any manager may answer', async () => {
    const { call, start, peek } = await open()
    const annotations = () =>
      peek<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace: 'default', name: 'demo' })?.metadata.annotations
    await start(1)
    assert.equal((await call(retry, 'demo')).code, 0)
    assert.ok(annotations()?.[RETRY_ANNOTATION])
    assert.match((await call(cancel, 'demo')).out, /Nothing runs for default\/demo/)
    assert.equal(annotations()?.[CANCEL_ANNOTATION], undefined)
    const missing = await call(retry, 'nobody')
    assert.equal(missing.code, 1)
    assert.match(missing.err, /There is no WorkspaceTemplateApply "nobody"/)
  })

  it('take the lock of a machine that is gone only when a person says so', async () => {
    const { call, objects, owner, engine } = await open()
    const rendering = renderWorkspace(aTemplate(MODULE), anApply({ variables: { n: '400' } }))
    assert.ok(rendering.ok)
    const { workspace } = rendering
    await engine.start({ owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 60 })
    assert.equal((await call(retry, 'demo --holder-is-gone')).code, 2, 'without a terminal --yes is needed')
    assert.equal((await call(retry, 'demo --holder-is-gone', 'n\n')).code, 1)
    assert.equal((await readRecord(objects, owner))?.record.run?.phase, 'Starting')
    assert.equal((await call(retry, 'demo --holder-is-gone', 'y\n')).code, 0)
    assert.equal((await readRecord(objects, owner))?.record.run?.phase, 'Lost')
    await engine.stop()
  })
})

describe('capt state', () => {
  it('lists, shows and restores; what held before is copied first', async () => {
    const { call, start, objects, owner } = await open()
    assert.match((await call(state, 'list demo')).err, /CAPT_STATE_MISSING/)
    await start(1)
    const old = (await loadState(objects, owner))!
    await start(3)
    const listed = (await call(state, 'list demo')).out
    assert.match(listed, / 2 {10}3 .*holds/)
    assert.match(listed, /secret_suffix = "demo-[a-z0-9]*[a-z]"/)
    assert.equal(
      (await call(state, 'show demo')).out,
      'terraform_data.x[0]\nterraform_data.x[1]\nterraform_data.x[2]\n',
    )
    assert.equal((await call(state, 'show demo --raw')).out, await loadState(objects, owner))

    const file = `${process.env['TMPDIR'] ?? '/tmp'}/capt-state-${process.pid}.json`
    const { rmSync, writeFileSync } = await import('node:fs')
    writeFileSync(file, old)
    try {
      const dry = await call(state, `restore demo --file ${file} --dry-run`)
      assert.match(dry.err, /would be forgotten: terraform_data.x\[2\]/)
      assert.equal(readState((await loadState(objects, owner))!)?.addresses.length, 3)
      const done = await call(state, `restore demo --file ${file} --yes`)
      assert.match(done.out, /Restored as serial 3/)
    } finally {
      rmSync(file)
    }
    assert.equal(readState((await loadState(objects, owner))!)?.addresses.length, 1)
    const copy = await call(state, 'restore demo --serial 2 --yes')
    assert.match(copy.out, /Restored as serial 4/)
    assert.equal(readState((await loadState(objects, owner))!)?.addresses.length, 3)
    assert.equal((await call(state, 'restore demo --serial 77 --yes')).code, 1)
    assert.equal((await call(state, 'frobnicate demo')).code, 2)
  })
})
