// What every engine promises, as cases: the simulated one, Terraform and OpenTofu are held to the same cases.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import type { Objects } from '#kube'
import { anApply, aTemplate } from '#testing'
import { checksKey } from './names.ts'
import type { Owner } from './owner.ts'
import type { Engine, WorkspaceView } from './port.ts'
import { renderWorkspace } from './render/render.ts'
import { readState } from './state/state-file.ts'
import { loadState } from './state/state-store.ts'

interface EngineUnderTest {
  readonly objects: Objects
  readonly engine: Engine
  close(): Promise<void>
}

const MODULE = `
variable "size" {
  type    = number
  default = 2
}
resource "terraform_data" "x" {
  count = var.size
  input = "hello \${who}"
}
output "greeting" { value = terraform_data.x[0].output }
output "secret" {
  value     = "hush"
  sensitive = true
}
`
const WAIT_MS = 180_000
let serial = 0

export function engineContract(name: string, open: () => Promise<EngineUnderTest>): void {
  describe(`${name} keeps the engine's promises`, () => {
    const world = async (work: (world: EngineUnderTest, owner: Owner) => Promise<void>) => {
      const opened = await open()
      try {
        const apply = anApply({}, { name: `case-${process.pid}-${++serial}` })
        const { metadata, apiVersion, kind } = await opened.objects.create(WorkspaceTemplateApply, apply)
        await work(opened, { namespace: 'default', name: metadata.name, uid: metadata.uid ?? '', apiVersion, kind })
      } finally {
        await opened.close()
      }
    }
    const requestFor = (owner: Owner, module = MODULE, size = 2) => {
      const spec = {
        variables: { who: 'world' },
        values: { size },
        writeConnectionSecretToRef: { name: `${owner.name}-out` },
      }
      const rendering = renderWorkspace(aTemplate(module), anApply(spec, { name: owner.name }))
      assert.ok(rendering.ok)
      const { workspace } = rendering
      return { owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 150 } as const
    }
    /** Waits for the engine's notifications, as a controller does. */
    const end = async (engine: Engine, owner: Owner): Promise<WorkspaceView> => {
      const deadline = Date.now() + WAIT_MS
      for (;;) {
        const { promise: news, resolve } = Promise.withResolvers<void>()
        const stop = engine.onChange(() => resolve())
        const view = await engine.observe(owner)
        if (view.activity !== 'running') {
          stop()
          return view
        }
        const late = setTimeout(resolve, Math.max(0, deadline - Date.now()))
        await news
        clearTimeout(late)
        stop()
        assert.ok(Date.now() < deadline, `the run did not end: ${JSON.stringify(view.record?.run)}`)
      }
    }

    const succeed = async (engine: Engine, owner: Owner): Promise<WorkspaceView> => {
      const view = await end(engine, owner)
      assert.deepEqual([view.activity, view.record?.run?.phase], ['idle', 'Succeeded'], JSON.stringify(view.record))
      return view
    }

    it('knows nothing about what was never started', () =>
      world(async ({ engine }, owner) => {
        assert.deepEqual(await engine.observe(owner), { record: undefined, activity: 'idle', cancelling: false })
      }))

    it('makes what the module says and reports its outputs', () =>
      world(async ({ engine, objects }, owner) => {
        const request = requestFor(owner)
        await engine.start(request)
        const { record } = await end(engine, owner)
        assert.partialDeepStrictEqual(record, {
          run: { verb: 'apply', phase: 'Succeeded', attempt: 1, plan: { add: 2, change: 0, destroy: 0, replace: 0 } },
          applied: { hash: request.hash, outputs: { greeting: 'hello world' } },
          state: { resources: 2 },
        })
        assert.equal(record?.applied?.outputs['secret'], undefined)
        const state = readState((await loadState(objects, owner)) ?? '')
        assert.deepEqual(state?.addresses, ['terraform_data.x[0]', 'terraform_data.x[1]'])
        const secret = await objects.get<Secret>(SecretKind, { namespace: 'default', name: `${owner.name}-out` })
        assert.equal(Buffer.from(secret?.data?.['secret'] ?? '', 'base64').toString(), 'hush')
      }))

    it('does not start a second run while one is on', () =>
      world(async ({ engine }, owner) => {
        await engine.start(requestFor(owner))
        const first = (await engine.observe(owner)).record?.run?.id
        await engine.start(requestFor(owner, MODULE, 3))
        assert.equal((await end(engine, owner)).record?.run?.id, first)
      }))

    it('changes only what changed', () =>
      world(async ({ engine }, owner) => {
        await engine.start(requestFor(owner))
        await succeed(engine, owner)
        await engine.start(requestFor(owner, MODULE, 3))
        const { record } = await succeed(engine, owner)
        assert.deepEqual(record?.run?.plan, { add: 1, change: 0, destroy: 0, replace: 0 }, JSON.stringify(record))
        assert.equal(record?.state?.resources, 3)
      }))

    it('ends with a plan where one must be approved, and applies that plan alone', () =>
      world(async ({ engine, objects }, owner) => {
        const policy = { mode: 'Manual', guard: [], expirySeconds: 600 } as const
        const start = async (hash?: string) => {
          const approved = hash === undefined ? {} : { approved: { hash, by: 'alice', at: '', verified: false } }
          await engine.start({ ...requestFor(owner), approval: { ...policy, ...approved } })
          return (await end(engine, owner)).record
        }
        const first = await start()
        assert.partialDeepStrictEqual(first, { run: { phase: 'Planned', attempt: 1, plan: { add: 2 } } })
        assert.deepEqual([first?.applied, await loadState(objects, owner)], [undefined, undefined])
        const second = await start('0000000000000000')
        assert.equal(second?.run?.phase, 'Planned', 'the approval of another plan does not count')
        assert.notEqual(second?.proposed?.hash, first?.proposed?.hash)
        assert.equal((await start(first?.proposed?.hash))?.run?.phase, 'Planned', 'nor does that of an earlier one')
        const { hash } = (await engine.observe(owner)).record!.proposed!
        const last = await start(hash)
        assert.partialDeepStrictEqual(last, { run: { phase: 'Succeeded', approval: { hash, by: 'alice' } } })
        assert.deepEqual([last?.proposed, last?.state?.resources], [undefined, 2])
      }))

    it('plans upon the state of another workspace, and leaves both as they are', () =>
      world(async ({ engine, objects }, owner) => {
        await engine.start(requestFor(owner))
        await succeed(engine, owner)
        const before = await loadState(objects, owner)
        const other = { ...owner, name: `${owner.name}-plan`, uid: `${owner.uid}-plan` }
        const approval = { mode: 'Auto', guard: [], expirySeconds: 600 } as const
        await engine.start({ ...requestFor(other, MODULE, 3), approval, speculativeFor: owner.name })
        const { record } = await end(engine, other)
        assert.partialDeepStrictEqual(record, { run: { phase: 'Planned', plan: { add: 1, destroy: 0 } } })
        assert.deepEqual([await loadState(objects, other), await loadState(objects, owner)], [undefined, before])
        await engine.forget(other, { keepState: false, stillUsed: new Set() })
      }))

    it('checks for drift beside the workspace, and leaves it as it is', () =>
      world(async ({ engine, objects }, owner) => {
        const request = requestFor(owner)
        await engine.start(request)
        const { record: target } = await succeed(engine, owner)
        const before = await loadState(objects, owner)
        const checks = { ...owner, ...checksKey(owner), checks: owner.name }
        const of = { applied: target!.applied!.runId, lineage: target!.state!.lineage, serial: target!.state!.serial }
        const check = async (size: number, isAsApplied: boolean) => {
          const inputs = requestFor(owner, MODULE, size)
          const checked = { ...of, inputs: inputs.hash, isAsApplied }
          await engine.start({ ...inputs, owner: checks, speculativeFor: owner.name, check: checked })
          return (await end(engine, checks)).record
        }
        assert.partialDeepStrictEqual(await check(2, true), {
          run: { phase: 'Planned', isCheck: true },
          drift: { result: 'InSync', changes: [] },
        })
        const pending = { address: 'terraform_data.x[2]', action: 'create', cause: 'Pending' }
        const other = await check(3, false)
        assert.partialDeepStrictEqual(other, { drift: { result: 'PendingChange', counts: { pending: 1 } } })
        assert.deepEqual([other?.drift?.run, other?.drift?.changes], [other?.run?.id, [pending]])
        assert.deepEqual([await loadState(objects, owner), await loadState(objects, checks)], [before, undefined])
        assert.deepEqual((await engine.observe(owner)).record?.run, target?.run)
        await engine.forget(checks, { keepState: false, stillUsed: new Set() })
        assert.equal((await engine.observe(checks)).record, undefined)
      }))

    it('says what is wrong with a module, and counts attempts at it', () =>
      world(async ({ engine }, owner) => {
        const request = requestFor(owner, 'output "x" { value = nowhere.y }')
        await engine.start(request)
        assert.partialDeepStrictEqual((await end(engine, owner)).record?.run, {
          phase: 'Failed',
          attempt: 1,
          fault: { kind: 'user' },
        })
        await engine.start(request)
        assert.partialDeepStrictEqual((await end(engine, owner)).record?.run, { phase: 'Failed', attempt: 2 })
      }))

    it('destroys from the frozen inputs, and forgets everything', () =>
      world(async ({ engine, objects }, owner) => {
        await engine.start(requestFor(owner))
        await succeed(engine, owner)
        await engine.start({ owner, verb: 'destroy', hash: 'x', timeoutSeconds: 150 })
        const { record } = await succeed(engine, owner)
        assert.partialDeepStrictEqual(record, { run: { verb: 'destroy', phase: 'Succeeded' }, state: { resources: 0 } })
        await engine.forget(owner, { keepState: false, stillUsed: new Set() })
        const left: string[] = []
        for await (const { metadata } of objects.list(SecretKind, { namespace: 'default' })) {
          if (metadata.name.includes(owner.name)) left.push(metadata.name)
        }
        assert.deepEqual(left, [`${owner.name}-out`], 'only the connection Secret is left: it belongs to the apply')
        assert.equal((await engine.observe(owner)).record, undefined)
      }))
  })
}
