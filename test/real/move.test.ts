// clusterctl move between two real management clusters, both with their managers at work all the time: in the middle of a
// cluster's life, and back again while a run is on. Terraform is real and writes down what it makes and destroys.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BLOCK_MOVE_ANNOTATION, LeaseKind, RETRY_ANNOTATION } from '#api'
import { isTrue } from './api.ts'
import { auditMark, describeRequests, isWrite, requestsSince } from './audit.ts'
import type { Said } from './clusterctl.ts'
import { type Kube, startKube } from './lab.ts'
import type { Loose } from './loose.ts'
import { ADDON_LABELS, clusterManifests, toText } from './manifests.ts'
import { isMovable, type MoveHome, moveAll, startMoveHome, type Watched, watchedTemplates } from './move-homes.ts'
import { prove } from './proofs.ts'
import { type Recorder, record, describe as story } from './recorder.ts'
import { eventually, type Playing, startPlaying, workloadSecret } from './world.ts'

const version = 'v1.14.2'
const demo = { namespace: 'default', name: 'demo' }
const APPLIES = ['demo-vpc', 'demo-eks-controlplane-apply'] as const
const MADE = ['made network', 'made control plane']
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

describe(`clusterctl move, Cluster API ${version}`, () => {
  let here: MoveHome
  let there: MoveHome
  let workload: Kube
  let playing: Playing
  let watched: Watched
  let recorder: Recorder
  const undo: (() => Promise<unknown> | unknown)[] = []

  before(async () => {
    watched = watchedTemplates(mkdtempSync(join(tmpdir(), 'capt-real-move-')))
    undo.push(() => watched.remove())
    const started = await Promise.allSettled([
      startMoveHome('here', version),
      startMoveHome('there', version),
      startKube({ name: 'workload', audit: true }),
    ])
    for (const one of started) if (one.status === 'fulfilled') undo.push(() => one.value.stop())
    const [first, second, third] = started
    for (const one of started) if (one.status === 'rejected') throw one.reason
    if (first.status !== 'fulfilled' || second.status !== 'fulfilled' || third.status !== 'fulfilled') return
    here = first.value
    there = second.value
    workload = third.value
    // The simulated cloud belongs to the workload cluster: it is the same one whoever manages it.
    playing = await startPlaying(demo, workload, workload)
    undo.push(() => playing.stop())
    const { cluster, infra, plane, apply, delivery } = there.kinds
    recorder = await record(there.kube, [cluster, infra, plane, apply, delivery])
    undo.push(() => recorder.stop())
  })
  after(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  type Kind = keyof MoveHome['kinds']
  const get = ({ api, kinds }: MoveHome, kind: Kind, name = 'demo') => api.get(kinds[kind], name)
  const holds = async (home: MoveHome, kind: Kind, type: string, name = 'demo') =>
    isTrue(await get(home, kind, name), type)
  const until = (home: MoveHome, what: string, check: () => boolean | Promise<boolean>, seconds = 180) =>
    eventually(home, what, check, seconds)
  const ledger = () => readFileSync(watched.ledger, 'utf8').trim().split('\n')
  const isWell = async (home: MoveHome) => {
    await until(home, 'the network is ready', () => holds(home, 'infra', 'Ready'))
    await until(home, 'the control plane is ready', () => holds(home, 'plane', 'Ready'))
    await until(home, 'the cluster is available', () => holds(home, 'cluster', 'Available'))
    await until(home, 'the add-ons are delivered and healthy', () => holds(home, 'delivery', 'Ready'), 300)
  }
  const runsOf = async (home: MoveHome) => {
    const applies = await Promise.all(APPLIES.map((name) => get(home, 'apply', name)))
    return applies.map(({ status }) => ({ run: status.run.id as string, outputs: status.outputs as Loose }))
  }
  const writesIn = async (seconds: number) => {
    const kubes = [here.kube, there.kube, workload]
    const marks = kubes.map(auditMark)
    await pause(seconds)
    return kubes.flatMap((kube, i) => requestsSince(kube, marks[i])).filter((one) => isWrite(one) && isWorker(one.user))
  }
  const isWorker = (user: string) => ['capt', 'core', 'actors'].includes(user)
  const assertMoved = ({ status, out, told }: Said) => assert.equal(status, 0, `${out}${told}`)
  const assertEmpty = async (home: MoveHome) => {
    const isEmpty = async () => (await home.belongings()).length === 0
    // What nobody moves, the locks, is left to the garbage collector.
    await until(home, 'nothing is left', isEmpty, 60).catch(() => undefined)
    assert.deepEqual(await home.belongings(), [])
  }
  const assertPlanIsEmpty = async (home: MoveHome) => {
    for (const [i, name] of APPLIES.entries()) {
      const last = (await runsOf(home))[i]!.run
      const annotations = { [RETRY_ANNOTATION]: `after ${last}` }
      await home.api.patch(home.kinds.apply, name, { metadata: { annotations } })
      await until(home, `${name} was run again`, async () => {
        const apply = await get(home, 'apply', name)
        return apply['status'].run.id !== last && apply['status'].run.phase === 'Succeeded' && isTrue(apply, 'Ready')
      })
      const { add, change, destroy } = (await get(home, 'apply', name))['status'].plan
      assert.deepEqual({ add, change, destroy }, { add: 0, change: 0, destroy: 0 }, name)
    }
  }

  it('begins with a cluster in use, Flux and Karpenter on it', async () => {
    watched.open('1.35')
    const access = workloadSecret(demo, workload) as Loose
    // Not even a label of the user's: capt marks what it uses.
    delete access['metadata'].labels
    const objects = [...watched.templates, access]
    here.kube.kubectl(
      ['apply', '-f', '-'],
      toText([...objects, ...clusterManifests({ name: 'demo', labels: ADDON_LABELS })]),
    )
    await isWell(here)
    assert.deepEqual(ledger(), MADE)
  })

  it('takes everything along in the middle of life: no run, nothing destroyed, nothing left behind', async () => {
    const before = await here.belongings()
    const runs = await runsOf(here)
    const mark = auditMark(workload)
    assertMoved(await moveAll(here, there))
    await isWell(there)
    assert.deepEqual((await there.belongings()).filter(isMovable), before.filter(isMovable))
    await assertEmpty(here)
    assert.deepEqual(await runsOf(there), runs, 'the same runs, the same outputs')
    assert.deepEqual(ledger(), MADE)
    const taken = requestsSince(workload, mark).filter(({ verb, user }) => verb.startsWith('delete') && isWorker(user))
    assert.equal(describeRequests(taken), '', 'nothing was deleted in the workload cluster')
    const written = requestsSince(workload, mark).filter((one) => isWrite(one) && one.user === 'capt')
    assert.equal(describeRequests(written), '', 'nor delivered again')
    const { stages } = (await get(there, 'delivery'))['status']
    for (const stage of stages) assert.equal(stage.delivered.equal, true, `${stage.name}: binding hash equals ours`)
    prove('clusterctl', version, 'move of a cluster in use; nothing destroyed or run', `${before.length} objects`)
  })

  it('leaves a cluster that settles, without a condition that flapped', async () => {
    await until(there, 'ten seconds pass without a write', async () => (await writesIn(10)).length === 0)
    assert.equal(describeRequests(await writesIn(20)), '')
    assert.deepEqual(recorder.flaps(), [], story(recorder.moments))
  })

  it('finds its Terraform state: a plan there is empty', async () => {
    await assertPlanIsEmpty(there)
    assert.deepEqual(ledger(), MADE)
    prove('clusterctl', version, 'plan after a move', 'empty')
  })

  it('waits while a run is on, then moves what the run has made', async () => {
    const blocks = async (kind: Kind, name?: string) =>
      BLOCK_MOVE_ANNOTATION in ((await get(there, kind, name))['metadata'].annotations ?? {})
    const [, name] = APPLIES
    await there.api.patch(there.kinds.plane, 'demo', { spec: { version: 'v1.36.0' } })
    await until(
      there,
      'Terraform is at it',
      async () => (await get(there, 'apply', name))['status'].run.phase === 'Apply',
    )
    assert.deepEqual([await blocks('apply', name), await blocks('plane')], [true, true])

    const mark = auditMark(workload)
    let hasEnded = false
    const moving = moveAll(there, here).finally(() => {
      hasEnded = true
    })
    await until(there, 'clusterctl has paused it', async () => (await get(there, 'cluster'))['spec'].paused === true)
    await until(there, 'the pause was seen', () => holds(there, 'plane', 'Paused'))
    assert.equal(hasEnded, false)
    assert.deepEqual(await here.api.list(here.kinds.cluster), [], 'nothing is copied while the run is on')
    watched.open('1.36')
    const said = await moving
    assertMoved(said)
    assert.match(`${said.out}${said.told}`, /Move blocked by .*block-move annotation/)

    await isWell(here)
    assert.equal((await get(here, 'plane'))['status'].version, 'v1.36.0')
    await assertEmpty(there)
    assert.deepEqual(ledger(), MADE)
    const taken = requestsSince(workload, mark).filter(({ verb, user }) => verb.startsWith('delete') && isWorker(user))
    assert.equal(describeRequests(taken), '')
    prove('clusterctl', version, 'move while a run is on: blocked, then moved')
  })

  it('has an empty plan again, and is destroyed only when somebody asks for it', async () => {
    await assertPlanIsEmpty(here)
    assert.deepEqual(ledger(), MADE)
    assert.deepEqual(await there.api.list(LeaseKind, { namespace: 'default' }), [])
    await here.api.remove(here.kinds.cluster, 'demo')
    await until(here, 'the cluster is gone', async () => !(await here.api.find(here.kinds.cluster, 'demo')), 300)
    assert.deepEqual(ledger(), [...MADE, 'destroyed control plane', 'destroyed network'])
    prove('clusterctl', version, 'move back, plan empty, deletion in order')
  })
})
