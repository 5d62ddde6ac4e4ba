import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Secret, SecretKind } from '#api'
import { silentLog } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { createExpiringPlans } from '../local/expiring-plans.ts'
import { planName, suffixOf } from '../names.ts'
import { newRecord, type PlanRef } from '../record/record.ts'
import { readRecord, writeRecord } from '../record/record-store.ts'
import { forgetWorkspace } from '../recovery/forget.ts'
import {
  deletePlan,
  loadPlan,
  PLAN_LIFE_MS,
  type PlanSituation,
  packPlan,
  planInFolder,
  planObstacle,
  savePlan,
} from './plan.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-plan-'))
after(() => rmSync(root, { recursive: true, force: true }))
const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const MADE = Date.UTC(2026, 0, 1)

function aPlan(content: Buffer, limit?: number) {
  const path = join(mkdtempSync(join(root, 'run-')), 'plan.bin')
  writeFileSync(path, content)
  const { packed, ...facts } = packPlan(path, limit)
  const ref: PlanRef = {
    ...facts,
    run: 'r1',
    verb: 'apply',
    hash: 'h',
    tool: 'terraform 1.11.4',
    lineage: 'l',
    serial: 3,
    credentials: 'c',
    folder: '/a',
    counts: { add: 1, change: 0, destroy: 0, replace: 0 },
    madeAt: new Date(MADE).toISOString(),
    expiresAt: new Date(MADE + PLAN_LIFE_MS).toISOString(),
  }
  return { path, packed, ref }
}
const part = (ref: PlanRef, index: number) => ({
  namespace: 'default',
  name: planName(suffixOf(owner), ref.id, index),
})

describe('a stored plan', () => {
  it('comes back as it was, out of several Secrets that are held, and moved by nobody', async () => {
    const { objects, peek, requests } = memoryCluster()
    const content = randomBytes(2_000_000)
    const { ref, packed, path } = aPlan(content)
    assert.equal(ref.parts, 3)
    await savePlan(objects, owner, ref, packed!)
    assert.deepEqual(await loadPlan(objects, owner, ref), content)
    assert.deepEqual(planInFolder(path, ref), content)
    const { metadata, data } = peek<Secret>(SecretKind, part(ref, 0))!
    assert.equal(metadata.finalizers?.length, 1)
    assert.equal(metadata.ownerReferences, undefined, 'clusterctl would list it, and it is gone when it is moved')
    assert.deepEqual(Object.keys(metadata.labels ?? {}), ['capt.appthrust.com/workspace', 'capt.appthrust.com/part'])
    assert.throws(() => gunzipSync(Buffer.from(data!['plan']!, 'base64')), 'the first part alone is no plan')
    await savePlan(objects, owner, ref, packed!)
    const before = requests.length
    await deletePlan(objects, owner, ref)
    assert.equal(requests.length - before, 3, 'one request lets one part go')
    for (let i = 0; i < 3; i++) assert.equal(peek(SecretKind, part(ref, i)), undefined)
    await deletePlan(objects, owner, ref)
  })

  it('is not taken for whole when its writer was killed at any request, and is taken away all the same', async () => {
    const { ref, packed } = aPlan(randomBytes(2_000_000))
    for (let killedAt = 0; killedAt < 6; killedAt++) {
      const { objects, others, storage, failNext } = memoryCluster()
      let asked = 0
      const mortal = {
        ...objects,
        create: async (...args: Parameters<typeof objects.create>) => {
          if (asked++ >= killedAt) throw new Error('killed')
          return objects.create(...args)
        },
        delete: async (...args: Parameters<typeof objects.delete>) => {
          if (asked++ >= killedAt) throw new Error('killed')
          return objects.delete(...args)
        },
      } as typeof objects
      await assert.rejects(savePlan(mortal, owner, ref, packed!), /killed/)
      const isWhole = killedAt >= 5
      assert.equal((await loadPlan(others, owner, ref)) !== undefined, isWhole, `killed at request ${killedAt}`)
      failNext('patch', SecretKind, 'Conflict')
      await deletePlan(objects, owner, ref).catch(() => deletePlan(objects, owner, ref))
      for (let i = 0; i < 3; i++)
        assert.throws(() => storage.patch(SecretKind, part(ref, i), { type: 'merge', body: {} }))
    }
  })

  it('is not believed when something else lies under its name', async () => {
    const { objects, others, path } = { ...memoryCluster(), ...aPlan(Buffer.from('mine')) }
    const { ref, packed } = aPlan(Buffer.from('one'))
    await savePlan(objects, owner, ref, packed!)
    const data = { plan: aPlan(Buffer.from('two')).packed!.toString('base64') }
    await others.patch(SecretKind, part(ref, 0), { type: 'merge', body: { data } })
    assert.equal(await loadPlan(objects, owner, ref), undefined)
    assert.equal(planInFolder(path, ref), undefined)
    assert.equal(planInFolder(join(root, 'nothing'), ref), undefined)
  })

  it('that is held by somebody else too is let go by us, and stays theirs', async () => {
    const { objects, others, peek } = memoryCluster()
    const { ref, packed } = aPlan(Buffer.from('one'))
    await savePlan(objects, owner, ref, packed!)
    const { metadata } = peek<Secret>(SecretKind, part(ref, 0))!
    const finalizers = [...metadata.finalizers!, 'example.com/backup']
    await others.patch(SecretKind, part(ref, 0), { type: 'merge', body: { metadata: { finalizers } } })
    await deletePlan(objects, owner, ref)
    assert.deepEqual(peek<Secret>(SecretKind, part(ref, 0))?.metadata.finalizers, ['example.com/backup'])
  })

  it('has a limit; beyond it only the work folder has the plan', () => {
    for (const size of [600, 5_000]) {
      const { ref, packed, path } = aPlan(randomBytes(size), 500)
      assert.deepEqual([packed, ref.parts], [undefined, 0])
      assert.equal(planInFolder(path, ref)?.length, size)
    }
  })
})

describe('the plan of an interrupted run', () => {
  const { ref } = aPlan(Buffer.from('x'))
  const now: PlanSituation = {
    runId: 'r1',
    verb: 'apply',
    history: [],
    hash: 'h',
    tool: 'terraform 1.11.4',
    state: { lineage: 'l', serial: 3 },
    credentials: 'c',
    isElsewhere: false,
    nowMs: MADE,
  }
  const past = (phase: 'Lost' | 'Failed') =>
    [{ id: 'r1', verb: 'apply', phase, attempt: 1, startedAt: '', finishedAt: '' }] as const

  it('is applied while everything it was made from is still so, also by the run after a lost one', () => {
    assert.equal(planObstacle(ref, now), undefined)
    assert.equal(planObstacle(ref, { ...now, runId: 'r2', history: past('Lost') }), undefined)
    const { lineage: _lineage, serial: _serial, ...first } = ref
    assert.equal(planObstacle(first, { ...now, state: undefined }), undefined, 'the first plan of all')
  })

  for (const [what, over, says] of [
    ['its run has ended', { runId: 'r2', history: past('Failed') }, /a run that has ended/],
    ['nobody knows its run', { runId: 'r2' }, /a run that has ended/],
    ['the inputs are others', { hash: 'i' }, /inputs have changed/],
    ['it was made to create, and this destroys', { verb: 'destroy' }, /inputs have changed/],
    ['Terraform is another one', { tool: 'tofu 1.10.0' }, /made by terraform 1.11.4, this is tofu 1.10.0/],
    ['the state has moved on', { state: { lineage: 'l', serial: 4 } }, /made from state 3, now there is state 4/],
    ['the state is another one', { state: { lineage: 'm', serial: 3 } }, /made from state 3/],
    ['the state is gone', { state: undefined }, /now there is no state/],
    ['the credentials are others', { credentials: 'd' }, /credentials have changed/],
    ['its time is over', { nowMs: MADE + PLAN_LIFE_MS }, /has expired/],
    ['it speaks of paths that are elsewhere', { isElsewhere: true }, /absolute paths/],
  ] as const) {
    it(`is made again when ${what}`, () => assert.match(planObstacle(ref, { ...now, ...over }) ?? '', says))
  }

  async function stored() {
    const cluster = memoryCluster()
    const { packed } = aPlan(Buffer.from('x'))
    const { id } = ref
    await savePlan(cluster.objects, owner, ref, packed!)
    await writeRecord(cluster.objects, owner, undefined, { ...newRecord('w'), plan: ref })
    return { ...cluster, lies: () => cluster.peek(SecretKind, part({ ...ref, id }, 0)) !== undefined }
  }

  it('goes when its time is over and its owner is looked at; one timer waits for that', async () => {
    const { objects, lies, failNext } = await stored()
    const clock = manualClock(MADE)
    const due: string[] = []
    const plans = createExpiringPlans({ objects, clock, log: silentLog, onDue: ({ name }) => due.push(name) })
    const check = async () => plans.check(owner, (await readRecord(objects, owner))!.record)
    assert.deepEqual([await check(), await check(), clock.pending], [false, false, 1])
    await clock.advance(PLAN_LIFE_MS - 1)
    assert.deepEqual([due, lies()], [[], true])
    await clock.advance(1)
    assert.deepEqual(due, ['demo'])
    failNext('patch', SecretKind, 'ServerError')
    assert.deepEqual([await check(), lies()], [false, true], 'what fails is tried at the next check')
    assert.deepEqual([await check(), lies()], [true, false])
    assert.equal((await readRecord(objects, owner))?.record.plan, undefined)
    assert.deepEqual([await check(), clock.pending], [false, 0])
    plans.stop()
  })

  it('goes at once when nobody takes the run up', async () => {
    const { objects, lies, failNext } = await stored()
    const plans = createExpiringPlans({ objects, clock: manualClock(), log: silentLog, onDue: () => undefined })
    const { record } = (await readRecord(objects, owner))!
    failNext('patch', SecretKind, 'ServerError')
    assert.deepEqual([(await plans.drop(owner, record)).plan, lies()], [ref, true], 'the record knows what is left')
    assert.deepEqual([(await plans.drop(owner, record)).plan, lies()], [undefined, false])
  })

  it('goes with its owner', async () => {
    const { objects, lies } = await stored()
    await forgetWorkspace(objects, owner, { keepState: true, stillUsed: new Set() })
    assert.equal(lies(), false)
  })
})
