import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Lease, LeaseKind } from '#api'
import { manualClock, memoryCluster } from '#testing'
import { leaseName, suffixOf } from '../names.ts'
import { HOLDER_ANNOTATION, type LockRequest } from './lease.ts'
import { acquireLock, observeLock, releaseDeadLock, unreleasedRun } from './lock.ts'
import { ownIdentity, type ProcessIdentity } from './processes.ts'

const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const key = { namespace: 'default', name: leaseName(suffixOf(owner)) }
const here = ownIdentity()
const dead: ProcessIdentity = { ...here, pid: 2 ** 22 + 1, start: '1' }
const elsewhere: ProcessIdentity = { ...here, host: 'far-away' }
const request = (runId: string, holder = here): LockRequest => ({
  owner,
  runId,
  verb: 'apply',
  holder,
  toolVersion: '1.11.4',
})

describe('the lock on a state', () => {
  const open = () => ({ ...memoryCluster(), clock: manualClock() })

  it('carries who holds it, for us and for terraform by hand', async () => {
    const { objects, clock, peek } = open()
    assert.equal((await acquireLock(objects, clock, request('run-1'))).is, 'held')
    const lease = peek<Lease>(LeaseKind, key)!
    assert.equal(lease.spec?.holderIdentity, 'run-1')
    assert.ok(lease.spec?.renewTime)
    const info = JSON.parse(lease.metadata.annotations!['app.terraform.io/lock-info']!) as Record<string, string>
    assert.match(info['Who']!, /^capt@/)
    assert.equal(lease.metadata.labels?.['tfstateSecretSuffix'], suffixOf(owner))
  })

  it('is free again after its release, and the release of another run changes nothing', async () => {
    const { objects, clock, peek } = open()
    const first = await acquireLock(objects, clock, request('run-1'))
    assert.ok(first.is === 'held')
    await first.lock.release()
    assert.equal(peek<Lease>(LeaseKind, key)?.spec?.holderIdentity, undefined)
    const second = await acquireLock(objects, clock, request('run-2'))
    assert.ok(second.is === 'held')
    await first.lock.release()
    assert.equal(peek<Lease>(LeaseKind, key)?.spec?.holderIdentity, 'run-2')
  })

  it('goes with its apply when it is free: only a run in progress holds it', async () => {
    const { objects, clock, peek } = open()
    const answer = await acquireLock(objects, clock, request('run-1'))
    assert.ok(answer.is === 'held')
    assert.equal(peek<Lease>(LeaseKind, key)?.metadata.finalizers?.length, 1)
    await answer.lock.release()
    assert.equal(peek<Lease>(LeaseKind, key)?.metadata.finalizers?.length ?? 0, 0)
    await acquireLock(objects, clock, request('run-2', dead))
    assert.equal(peek<Lease>(LeaseKind, key)?.metadata.finalizers?.length, 1)
    await releaseDeadLock(objects, owner)
    assert.equal(peek<Lease>(LeaseKind, key)?.metadata.finalizers?.length ?? 0, 0)
  })

  it('is not taken from a holder that lives, or that cannot be proven dead', async () => {
    for (const holder of [here, elsewhere]) {
      const { objects, clock } = open()
      await acquireLock(objects, clock, request('run-1', holder))
      assert.equal((await acquireLock(objects, clock, request('run-2'))).is, 'busy')
      assert.equal(await releaseDeadLock(objects, owner), false)
    }
  })

  it('is released when its run is over, whatever is known of its holder', async () => {
    const { objects, clock, peek } = open()
    await acquireLock(objects, clock, request('run-1', elsewhere))
    assert.equal(await releaseDeadLock(objects, owner, (_holder, runId) => runId === 'run-0'), false)
    assert.equal(await releaseDeadLock(objects, owner, (_holder, runId) => runId === 'run-1'), true)
    assert.equal(peek<Lease>(LeaseKind, key)?.spec?.holderIdentity ?? '', '')
  })

  it('is taken from a holder that is proven dead', async () => {
    const { objects, clock, peek } = open()
    await acquireLock(objects, clock, request('run-1', dead))
    assert.equal((await acquireLock(objects, clock, request('run-2'))).is, 'held')
    assert.equal(peek<Lease>(LeaseKind, key)?.spec?.holderIdentity, 'run-2')
    await acquireLock(objects, clock, request('run-2', dead))
    assert.equal(await releaseDeadLock(objects, owner), true)
    assert.ok(!peek<Lease>(LeaseKind, key)?.spec?.holderIdentity)
  })

  it('names the run that has not released it, also when it was freed since its holder died', async () => {
    const { objects, clock } = open()
    const unreleased = async () => unreleasedRun(await observeLock(objects, owner))
    assert.equal(await unreleased(), undefined)
    await acquireLock(objects, clock, request('run-1', dead))
    assert.equal(await unreleased(), 'run-1')
    await releaseDeadLock(objects, owner)
    assert.equal(await unreleased(), 'run-1')
    const next = await acquireLock(objects, clock, request('run-2'))
    assert.ok(next.is === 'held')
    assert.equal(await unreleased(), 'run-2')
    await next.lock.release()
    assert.equal(await unreleased(), undefined)
  })

  it('is never taken from a person, even when an old mark of ours is still on it', async () => {
    const { objects, clock } = open()
    await acquireLock(objects, clock, request('run-1', dead))
    // Terraform by hand keeps annotations it does not know.
    await objects.patch(LeaseKind, key, { type: 'merge', body: { spec: { holderIdentity: 'by-hand' } } })
    const answer = await acquireLock(objects, clock, request('run-2'))
    assert.ok(answer.is === 'foreign')
    assert.match(answer.command, /kubectl -n default patch lease/)
  })

  it('needs no Lease where none can be made any more', async () => {
    const { objects, clock, failNext } = open()
    failNext('create', LeaseKind, 'NamespaceTerminating')
    assert.equal((await acquireLock(objects, clock, request('run-1'))).is, 'held')
  })

  it('says so when somebody took it away from a run', async () => {
    const { objects, clock } = open()
    const answer = await acquireLock(objects, clock, request('run-1'))
    assert.ok(answer.is === 'held')
    await answer.lock.renew()
    await objects.patch(LeaseKind, key, { type: 'merge', body: { spec: { holderIdentity: null } } })
    await assert.rejects(answer.lock.renew(), { code: 'CAPT_LOCK_LOST' })
  })

  it('marks only the lock it belongs to', async () => {
    const { objects, clock, peek } = open()
    await acquireLock(objects, clock, request('run-1'))
    const mark = JSON.parse(peek<Lease>(LeaseKind, key)!.metadata.annotations![HOLDER_ANNOTATION]!) as { lock: string }
    assert.equal(mark.lock, 'run-1')
  })
})
