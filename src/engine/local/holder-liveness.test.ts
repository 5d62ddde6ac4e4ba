import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, PodKind } from '#api'
import { silentLog } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { acquireLock } from '../lock/lock.ts'
import { announcePod, livenessOf, ownIdentity, type ProcessIdentity } from '../lock/processes.ts'
import { decideHolder, type Evidence, observeHolders } from './holder-liveness.ts'

const OWN_POD = { namespace: 'capt-system', name: 'capt-1', uid: 'own' }
announcePod(OWN_POD)

const KEY = { namespace: 'default', name: 'demo' }
const OWNER = { ...KEY, uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const inPod = (uid: string, name = `capt-${uid}`): ProcessIdentity => ({
  ...ownIdentity(),
  host: name,
  space: 'pid:[1]',
  pod: { namespace: 'capt-system', name, uid },
})

describe('the proof that the holder of a run is dead', () => {
  const base: Evidence = { process: 'unknown', pod: 'unknown', isOwnPod: false, silentMs: 0 }
  const cases: readonly (readonly [string, Partial<Evidence>, ReturnType<typeof decideHolder>])[] = [
    ['is the process table on one host', { process: 'dead' }, 'dead'],
    ['fails where the process table shows it', { process: 'alive', silentMs: 1e9 }, 'alive'],
    ['is the terminal status of its pod, whatever its Lease says', { pod: 'ended' }, 'dead'],
    ['waits while the Lease of a pod that is gone is young', { pod: 'gone', silentMs: 179_999 }, 'waiting'],
    ['is the absence of its pod with three durations of silence', { pod: 'gone', silentMs: 180_000 }, 'dead'],
    ['never comes from silence alone', { silentMs: 1e12 }, 'unknown'],
    ['never comes from silence while its pod runs', { pod: 'running', silentMs: 1e12 }, 'unknown'],
    ['takes a changing Lease for life', { pod: 'running', silentMs: 59_999 }, 'waiting'],
    ['waits in a restarted container', { pod: 'running', isOwnPod: true, silentMs: 60_000 }, 'waiting'],
    ['is a silent predecessor in our own pod', { pod: 'running', isOwnPod: true, silentMs: 180_000 }, 'dead'],
  ]
  for (const [name, evidence, expected] of cases)
    it(name, () => assert.equal(decideHolder({ ...base, ...evidence }), expected))

  it('does not take a pod of the same name on another node for a rebooted machine', () => {
    assert.equal(livenessOf({ ...inPod('x', ownIdentity().host), boot: 'of another node' }), 'unknown')
  })
})

describe('holders elsewhere', () => {
  const open = () => {
    const cluster = memoryCluster()
    const clock = manualClock()
    const holders = observeHolders({ objects: cluster.objects, clock, log: silentLog })
    const pod = async (uid: string, phase: string) =>
      cluster.seed(PodKind, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: 'capt-system', name: `capt-${uid}`, uid },
        status: { phase },
      } as AnyObject)
    const lock = (holder: ProcessIdentity, atMs = clock.now()) =>
      acquireLock(
        cluster.objects,
        { ...clock, now: () => atMs },
        {
          owner: OWNER,
          runId: 'run-1',
          verb: 'apply',
          holder,
          toolVersion: '1.11.4',
        },
      )
    return { ...cluster, clock, holders, pod, lock }
  }

  it('are dead at once when their pod has ended', async () => {
    const { holders, pod, lock } = open()
    const who = inPod('a')
    await pod('a', 'Failed')
    await lock(who)
    assert.equal(await holders.of(KEY, who), 'dead')
    assert.ok(holders.isProvenDead(KEY, who))
    assert.ok(!holders.isProvenDead(KEY, { ...who, start: 'another' }))
  })

  it('are dead after three silent durations when their pod is gone, also when another pod has its name', async () => {
    for (const isReplaced of [false, true]) {
      const { holders, lock, clock, objects } = open()
      const who = inPod('b')
      if (isReplaced)
        await objects.create<AnyObject>(PodKind, {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { namespace: 'capt-system', name: 'capt-b' },
        } as AnyObject)
      await lock(who)
      assert.equal(await holders.of(KEY, who), 'waiting')
      await clock.advance(179_000)
      assert.equal(await holders.of(KEY, who), 'waiting')
      await clock.advance(1_000)
      assert.equal(await holders.of(KEY, who), 'dead')
    }
  })

  it('live as long as the Lease changes, an hour of difference between the clocks notwithstanding', async () => {
    for (const skewMs of [-3_600_000, 0, 3_600_000]) {
      const { holders, lock, clock } = open()
      const { pod: _, ...here } = ownIdentity()
      const who: ProcessIdentity = { ...here, host: 'far-away' }
      await lock(who, clock.now() + skewMs)
      for (let i = 0; i < 20; i++) {
        assert.equal(await holders.of(KEY, who), 'waiting', `skew ${skewMs}`)
        await clock.advance(15_000)
        await lock(who, clock.now() + skewMs)
      }
      assert.equal(await holders.of(KEY, who), 'waiting')
      await clock.advance(60_000)
      assert.equal(await holders.of(KEY, who), 'unknown', `skew ${skewMs}: silence is noticed after one duration`)
    }
  })

  it('are not looked up in another namespace, and not taken for dead when reading is forbidden', async () => {
    const { holders, lock, clock, failNext } = open()
    const elsewhere = { ...inPod('c'), pod: { namespace: 'other', name: 'capt-c', uid: 'c' } }
    await lock(elsewhere)
    await holders.of(KEY, elsewhere)
    await clock.advance(200_000)
    assert.equal(await holders.of(KEY, elsewhere), 'unknown')
    failNext('get', PodKind, 'Forbidden')
    assert.equal(await holders.of(KEY, inPod('d')), 'unknown')
  })
})
