// Saves that are cut at every single request, and saves of a runner whose lock is gone.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type Lease, LeaseKind, type Secret, SecretKind } from '#api'
import type { Objects } from '#kube'
import { sha256, silentLog } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { leaseName, stateName, suffixOf } from '../names.ts'
import { newRecord, type RunRecord } from '../record/record.ts'
import { type RecordChange, readRecord, writeRecord } from '../record/record-store.ts'
import { folderOf } from '../runner/inputs/folder.ts'
import { WorkspaceState } from '../runner/state/workspace-state.ts'
import { decideRefused, saveFenced, takeOverState } from './fenced-state.ts'
import { readState } from './state-file.ts'
import { loadState, observeState } from './state-store.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-fenced-'))
after(() => rmSync(root, { recursive: true, force: true }))
const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const key = { namespace: 'default', name: stateName(suffixOf(owner)) }
const resources = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    mode: 'managed',
    type: 't',
    name: `n${i}`,
    instances: [{ attributes: { id: `id-${i}` } }],
  }))
const text = (serial: number, extra = '') =>
  JSON.stringify({ version: 4, serial, lineage: 'l', outputs: {}, resources: resources(serial), extra })
/** Text that does not compress, so that it takes several Secrets. */
const noise = randomBytes(960_000).toString('base64')
const large = (serial: number) => text(serial, `${noise}${serial}`)

class Crash extends Error {}

/** Objects of a runner that dies with its request number `at`: it is carried out, and its answer is not heard. */
function mortal(objects: Objects, at: number): { objects: Objects; died(): boolean } {
  let asked = 0
  const ask =
    <A extends unknown[], T>(work: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      asked++
      if (asked > at) throw new Crash()
      const answer = await work(...args)
      if (asked === at) throw new Crash()
      return answer
    }
  const { get, create, replace, patch, apply } = objects
  const wrapped = { get, create, replace, patch, apply, delete: objects.delete }
  const all = Object.fromEntries(Object.entries(wrapped).map(([name, work]) => [name, ask(work as never)]))
  return { objects: { ...all, list: objects.list } as unknown as Objects, died: () => asked >= at }
}

async function recordIn(objects: Objects): Promise<RunRecord> {
  return (await readRecord(objects, owner))!.record
}

/** One runner: its folder, and a record that it changes through `objects`. */
async function runner(objects: Objects, runId: string, options: { isTakeOver: boolean; inFolder?: string }) {
  const folder = folderOf(mkdtempSync(join(root, 'run-')))
  mkdirSync(folder.work, { recursive: true })
  if (options.inFolder !== undefined) writeFileSync(join(folder.work, 'terraform.tfstate'), options.inFolder)
  let record = (await readRecord(objects, owner))!.record
  const said: string[] = []
  const change = async (next: RecordChange) => {
    const seen = (await readRecord(objects, owner))!
    record = (await writeRecord(objects, owner, seen, next(seen.record)))!.record
  }
  const fenced = { is: false }
  const state = await WorkspaceState.open(
    {
      ...{ objects, owner, folder, clock: manualClock(), log: silentLog, runId, verb: 'apply' as const },
      record: () => record,
      announce: change,
      onTooLarge: () => assert.fail('it fits'),
      onFenced: () => {
        fenced.is = true
      },
      note: (line) => said.push(line),
    },
    { isTakeOver: options.isTakeOver },
  )
  const write = (now: string) => writeFileSync(join(folder.work, 'terraform.tfstate'), now)
  return { state, folder, write, change, said, fenced }
}

async function secretsOf(objects: Objects): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { metadata } of objects.list<Secret>(SecretKind, { namespace: 'default' })) names.push(metadata.name)
  return names.sort()
}

describe('a state of several Secrets', () => {
  it('is whole after a runner died at any request of a save, and no copy is left', async () => {
    let isThrough = false
    // The requests before these only read.
    for (let at = 8; !isThrough; at++) {
      const { others } = memoryCluster()
      await writeRecord(others, owner, undefined, newRecord('w'))
      const first = await runner(others, 'run-1', { isTakeOver: false, inFolder: large(3) })
      await first.state.settle(first.folder.work)
      await first.state.flush(true)
      await first.change((record) => ({ ...record, state: { serial: 3, lineage: 'l', savedAt: '', resources: 3 } }))

      const dying = mortal(others, at)
      const second = await runner(dying.objects, 'run-2', { isTakeOver: false }).catch(() => undefined)
      try {
        await second?.state.settle(second.folder.work)
        second?.write(large(5))
        await second?.state.flush(true)
      } catch (error) {
        assert.ok(error instanceof Crash, String(error))
      }
      second?.state.stop()
      isThrough = !dying.died()

      // Another machine: nothing of the folder is left.
      const third = await runner(others, 'run-3', { isTakeOver: true })
      await third.state.settle(third.folder.work)
      await third.state.flush(true)
      const serial = readState((await loadState(others, owner))!)?.serial
      assert.ok(serial === 3 || serial === 5, `serial ${serial} after request ${at}`)
      await third.change(await third.state.tidyCopies())
      third.state.stop()
      first.state.stop()
      const left = (await secretsOf(others)).filter((name) => !name.startsWith('tfstate-'))
      assert.deepEqual(left, [`capt-run-${suffixOf(owner)}`], `after request ${at}`)
      assert.equal((await recordIn(others)).pending, undefined)
    }
  })

  it('uses the announced copy when the write was torn, and says so', async () => {
    const { others } = memoryCluster()
    await writeRecord(others, owner, undefined, newRecord('w'))
    const first = await runner(others, 'run-1', { isTakeOver: false, inFolder: large(3) })
    await first.state.settle(first.folder.work)
    await first.state.flush(true)
    first.state.stop()
    // The first part of the next state is written, the second is not.
    for (let at = 8; ; at++) {
      const dying = mortal(others, at)
      const second = await runner(dying.objects, 'run-2', { isTakeOver: false }).catch(() => undefined)
      await second?.state.settle(second.folder.work).catch(() => undefined)
      second?.write(large(5))
      await second?.state.flush(true).catch(() => undefined)
      second?.state.stop()
      if ((await observeState(others, owner)).isDamaged) break
      assert.ok(dying.died(), 'no request of a save tears the state')
    }
    const third = await runner(others, 'run-3', { isTakeOver: true })
    await third.state.settle(third.folder.work)
    await third.state.flush(true)
    third.state.stop()
    assert.equal(readState((await loadState(others, owner))!)?.serial, 5)
    assert.match(third.said.join('\n'), /Restored copy 5-run-2 of the state, serial 5 with 5 resources/)
  })
})

describe('a save', () => {
  const fence = (runId: string) => ({ runId, kept: '{}' })
  const lease = (holderIdentity: string): Lease => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'default', name: leaseName(suffixOf(owner)) },
    spec: { holderIdentity },
  })

  it('is refused when a successor has taken the state over, and touches nothing', async () => {
    const { others } = memoryCluster()
    await others.create<Lease>(LeaseKind, lease('run-1'))
    const old = await saveFenced(others, owner, text(1), [], fence('run-1'))
    await others.patch(
      LeaseKind,
      { namespace: 'default', name: lease('').metadata.name },
      {
        type: 'merge',
        body: { spec: { holderIdentity: 'run-2' } },
      },
    )
    const { parts } = await takeOverState(others, owner, 'run-2')
    await assert.rejects(saveFenced(others, owner, text(2), old, fence('run-1')), { code: 'CAPT_STATE_FENCED' })
    assert.equal(await loadState(others, owner), text(1))
    await saveFenced(others, owner, text(3), parts, fence('run-2'))
    await assert.rejects(saveFenced(others, owner, text(2), old, fence('run-1')), { code: 'CAPT_STATE_FENCED' })
    assert.equal(await loadState(others, owner), text(3))
  })

  it('is refused before anything was ever saved, too', async () => {
    const { others } = memoryCluster()
    await others.create<Lease>(LeaseKind, lease('run-2'))
    const { parts, text: none } = await takeOverState(others, owner, 'run-2')
    assert.equal(none, undefined)
    assert.equal(await loadState(others, owner), undefined, 'a mark is no state')
    await assert.rejects(saveFenced(others, owner, text(1), [], fence('run-1')), { code: 'CAPT_STATE_FENCED' })
    await saveFenced(others, owner, text(2), parts, fence('run-2'))
    assert.equal(await loadState(others, owner), text(2))
  })

  it('goes on when its answer was lost, when only metadata changed, and when the Secret was deleted', async () => {
    const { objects, others, failNext } = memoryCluster()
    await others.create<Lease>(LeaseKind, lease('run-1'))
    let parts = await saveFenced(objects, owner, text(1), [], fence('run-1'))
    await others.patch(SecretKind, key, { type: 'merge', body: { metadata: { labels: { team: 'a' } } } })
    parts = await saveFenced(objects, owner, text(2), parts, fence('run-1'))
    failNext('patch', SecretKind, 'Unreachable', { carriedOut: true })
    await assert.rejects(saveFenced(objects, owner, text(3), parts, fence('run-1')))
    parts = await saveFenced(objects, owner, text(3), parts, fence('run-1'))
    await others.patch(SecretKind, key, { type: 'merge', body: { metadata: { finalizers: null } } })
    await others.delete(SecretKind, key)
    await saveFenced(objects, owner, text(4), parts, fence('run-1'))
    assert.equal(await loadState(others, owner), text(4))
  })

  it('takes back what was kept without an owner', async () => {
    const { others } = memoryCluster()
    await others.create<Secret>(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: key,
      data: {},
    })
    const { parts } = await observeState(others, owner)
    await saveFenced(others, owner, text(1), parts, fence('run-1'))
    const secret = await others.get<Secret>(SecretKind, key)
    assert.equal(secret?.metadata.ownerReferences?.[0]?.uid, 'u')
    assert.equal(secret?.metadata.finalizers?.length, 1)
  })

  const empty = sha256('')
  for (const [what, seen, expected] of [
    ['the lock is gone', { part: 0, ours: 'o', known: 'k', found: 'k', isHeld: false }, 'fenced'],
    [
      'the lock is gone, although our data is there',
      { part: 0, ours: 'o', known: 'k', found: 'o', isHeld: false },
      'fenced',
    ],
    ['our data is there', { part: 0, ours: 'o', known: 'k', found: 'o', isHeld: true }, 'written'],
    ['only metadata changed', { part: 0, ours: 'o', known: 'k', found: 'k', isHeld: true }, 'again'],
    ['the Secret is gone', { part: 0, ours: 'o', known: 'k', found: undefined, isHeld: true }, 'again'],
    ['there is a mark without data', { part: 0, ours: 'o', known: undefined, found: empty, isHeld: true }, 'again'],
    ['somebody wrote a first state', { part: 0, ours: 'o', known: undefined, found: 'x', isHeld: true }, 'fenced'],
    ['somebody wrote without the lock', { part: 0, ours: 'o', known: 'k', found: 'x', isHeld: true }, 'fenced'],
    ['a part is left of a larger state', { part: 1, ours: 'o', known: undefined, found: 'x', isHeld: true }, 'again'],
    ['somebody changed a later part', { part: 1, ours: 'o', known: 'k', found: 'x', isHeld: true }, 'fenced'],
  ] as const) {
    it(`that was refused because ${what}: ${expected}`, () => assert.equal(decideRefused(seen), expected))
  }
})

describe('a runner that lost its lock', () => {
  it('saves beside the state, and the record of its successor announces it', async () => {
    const { others } = memoryCluster()
    await writeRecord(others, owner, undefined, newRecord('w'))
    const old = await runner(others, 'run-1-old', { isTakeOver: false, inFolder: text(1) })
    await old.state.settle(old.folder.work)
    await old.state.flush(false)
    const next = await runner(others, 'run-2-new', { isTakeOver: true })
    await next.state.settle(next.folder.work)
    next.write(text(4))
    await next.state.flush(true)

    old.write(text(2, 'late'))
    await assert.rejects(old.state.flush(false), { code: 'CAPT_STATE_FENCED' })
    assert.ok(old.fenced.is, 'Terraform is stopped')
    const side = (await recordIn(others)).side!
    assert.deepEqual(
      side.map(({ serial, run }) => [serial, run]),
      [[2, 'run-1-old']],
    )
    assert.equal(await loadState(others, owner), text(4), 'what the successor saved is untouched')

    // All that the late one has is in the state: the copy goes by itself.
    const third = await runner(others, 'run-3', { isTakeOver: false })
    await third.state.settle(third.folder.work)
    await third.change(await third.state.tidyCopies())
    assert.equal((await recordIn(others)).side, undefined)
    assert.deepEqual(await secretsOf(others), [`capt-run-${suffixOf(owner)}`, key.name])
    for (const { state } of [old, next, third]) state.stop()
  })
})
