// clusterctl move between two real management clusters, both with their managers at work all the time: in the middle of a
// cluster's life, and back again while a run is on. Terraform is real and writes down what it makes and destroys.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BLOCK_MOVE_ANNOTATION, RETRY_ANNOTATION } from '#api'
import { isTrue } from '../support/api.ts'
import { auditMark, describeRequests, isWrite, requestsSince } from '../support/audit.ts'
import type { Said } from '../support/clusterctl/clusterctl.ts'
import {
  isMovable,
  type MoveHome,
  moveAll,
  startMoveHome,
  type Watched,
  watchTerraform,
} from '../support/clusterctl/move-homes.ts'
import { type MovedNodes, startMovedNodes } from '../support/clusterctl/move-nodes.ts'
import { type Kube, startKube } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { ADDON_LABELS, clusterManifests, toText } from '../support/manifests.ts'
import { prove } from '../support/proofs.ts'
import { type Recorder, record, describe as story } from '../support/recorder.ts'
import { eventually, type Playing, startPlaying, workloadSecret } from '../support/world.ts'

const version = 'v1.14.2'
const demo = { namespace: 'default', name: 'demo' }
const APPLIES = ['demo-vpc', 'demo-eks-controlplane-apply'] as const
const FEW_NODES = { pool: 2, core: 2, own: 2 }
const MORE_NODES = { pool: 3, core: 3, own: 3 }
const MADE = ['made network', 'made control plane']
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

describe(`clusterctl move, Cluster API ${version}`, () => {
  let here: MoveHome
  let there: MoveHome
  let workload: Kube
  let playing: Playing
  let watched: Watched
  let recorder: Recorder
  let nodes: MovedNodes
  const undo: (() => Promise<unknown> | unknown)[] = []

  before(async () => {
    watched = watchTerraform()
    undo.push(() => watched.remove())
    const started = await Promise.allSettled([
      startMoveHome('here', version, watched.path),
      startMoveHome('there', version, watched.path),
      startKube({ name: 'workload', audit: true }),
    ])
    for (const one of started) if (one.status === 'fulfilled') undo.push(() => one.value.stop())
    const [first, second, third] = started
    for (const one of started) if (one.status === 'rejected') throw one.reason
    if (first.status !== 'fulfilled' || second.status !== 'fulfilled' || third.status !== 'fulfilled') return
    here = first.value
    there = second.value
    workload = third.value
    // The simulated cloud belongs to the workload cluster: it is the same one for both managers.
    playing = await startPlaying(demo, workload, workload)
    undo.push(() => playing.stop())
    nodes = await startMovedNodes(() => [here, there])
    undo.push(() => nodes.stop())
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
  const deletionsSince = (mark: number) =>
    requestsSince(workload, mark).filter(({ verb, user }) => verb.startsWith('delete') && isWorker(user))
  /** What was delivered to the workload cluster, with uid and generation. */
  const addons = () => {
    const item = '{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation}'
    const kinds = 'deployments,helmreleases,ocirepositories,ec2nodeclasses,nodepools'
    return workload.kubectl(['get', kinds, '-A', '-o', `jsonpath={range .items[*]}${item}{"\\n"}{end}`])
  }
  const assertMoved = ({ status, out, stderr }: Said) => assert.equal(status, 0, `${out}${stderr}`)
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
    const objects = [...watched.templates, workloadSecret(demo, workload)]
    here.kube.kubectl(
      ['apply', '-f', '-'],
      toText([...objects, ...clusterManifests({ name: 'demo', labels: ADDON_LABELS, plane: { version: 'v1.34.0' } })]),
    )
    nodes.apply(here)
    await isWell(here)
    await until(here, 'the other cluster has its nodes', () => nodes.areWell(here, FEW_NODES), 300)
    assert.deepEqual(watched.ledger(), MADE)
  })

  it('takes everything along in the middle of life: no run, nothing destroyed, nothing left behind', async () => {
    const before = await here.belongings()
    const beforeOfNodes = await nodes.belongings(here)
    const runsOfNodes = await nodes.runs(here)
    const runs = await runsOf(here)
    const delivered = addons()
    const mark = auditMark(workload)
    assertMoved(await moveAll(here, there))
    await isWell(there)
    assert.deepEqual((await there.belongings()).filter(isMovable), before.filter(isMovable))
    await assertEmpty(here)
    await until(there, 'the nodes are counted again', () => nodes.areWell(there, FEW_NODES))
    assert.deepEqual(await nodes.belongings(there), beforeOfNodes)
    assert.deepEqual(await nodes.belongings(here), [])
    assert.deepEqual(await nodes.runs(there), runsOfNodes, 'pools and machines were not run again')
    assert.deepEqual(await runsOf(there), runs, 'the same runs, the same outputs')
    assert.deepEqual(watched.ledger(), MADE)
    assert.equal(describeRequests(deletionsSince(mark)), '', 'nothing was deleted in the workload cluster')
    assert.equal(addons(), delivered, 'core may apply a set once more; nothing changes by it')
    const { stages } = (await get(there, 'delivery'))['status']
    for (const stage of stages) assert.equal(stage.delivered.equal, true, `${stage.name}: binding hash equals ours`)
    prove('clusterctl', version, 'move of a cluster in use; nothing destroyed or run', `${before.length} objects`)
  })

  it('leaves a cluster that settles, without a condition that flapped', async () => {
    await until(there, 'ten seconds pass without a write', async () => (await writesIn(10)).length === 0)
    assert.equal(describeRequests(await writesIn(20)), '')
    // What core counts of its own machines again is not capt's.
    const flaps = recorder.flaps().filter((line) => !line.startsWith('Cluster nodes '))
    assert.deepEqual(flaps, [], story(recorder.changes))
  })

  it('finds its Terraform state: a plan there is empty', async () => {
    await assertPlanIsEmpty(there)
    assert.deepEqual(watched.ledger(), MADE)
    prove('clusterctl', version, 'plan after a move', 'empty')
  })

  it('leaves pools and machines that go on: one run for each change, and they are destroyed there', async () => {
    const before = await nodes.runs(there)
    nodes.scale(there, MORE_NODES)
    await until(there, 'there are more nodes', () => nodes.areWell(there, MORE_NODES))
    const scaled = await nodes.runs(there)
    assert.equal(scaled.filter((run) => !before.includes(run)).length, 3, 'two new machines, and the node group')
    assert.equal(scaled.length, before.length + 2)
    await nodes.remove(there)
    await until(there, 'the cluster with nodes is gone', () => nodes.isGone(there), 300)
    assert.deepEqual(await nodes.runs(there), [])
    prove('clusterctl', version, 'move of pools and machines; they scale and are deleted in the target')
  })

  /** Changes the version there, begins to move back while Terraform is held at a step, and lets both go on. */
  const moveBackDuring = async (step: 'plan' | 'apply', wanted: string): Promise<Said> => {
    const [, name] = APPLIES
    const phase = step === 'plan' ? 'Plan' : 'Apply'
    watched.hold(step)
    await there.api.patch(there.kinds.plane, 'demo', { spec: { version: wanted } })
    await until(
      there,
      `Terraform is at ${step}`,
      async () => (await get(there, 'apply', name))['status'].run.phase === phase,
    )
    const { annotations } = (await get(there, 'apply', name))['metadata']
    assert.equal(annotations[BLOCK_MOVE_ANNOTATION], 'true')
    let hasEnded = false
    const moving = moveAll(there, here).finally(() => {
      hasEnded = true
    })
    await until(there, 'clusterctl has paused it', async () => (await get(there, 'cluster'))['spec'].paused === true)
    await until(there, 'the pause was seen', () => holds(there, 'plane', 'Paused'))
    assert.equal(hasEnded, false)
    assert.deepEqual(await here.api.list(here.kinds.cluster), [], 'nothing is copied while the run is on')
    watched.letGo(step)
    const said = await moving
    assert.match(`${said.out}${said.stderr}`, /Move blocked by .*block-move annotation/)
    return said
  }
  const assertCameBack = async (wanted: string) => {
    await isWell(here)
    await until(here, `it runs ${wanted}`, async () => (await get(here, 'plane'))['status'].version === wanted)
    await assertEmpty(there)
    assert.deepEqual(watched.ledger(), MADE)
    await assertPlanIsEmpty(here)
    assert.deepEqual(watched.ledger(), MADE)
  }

  it('waits while a run is on, then moves what the run has made', async () => {
    const mark = auditMark(workload)
    assertMoved(await moveBackDuring('apply', 'v1.35.0'))
    await assertCameBack('v1.35.0')
    assert.equal(describeRequests(deletionsSince(mark)), '')
    prove('clusterctl', version, 'move while a run is on: blocked, then moved; plan empty')
  })

  it('waits for a run that only plans, which then changes nothing here and is done there', async () => {
    assertMoved(await moveAll(here, there))
    await isWell(there)
    const before = (await there.belongings()).filter(isMovable)
    assertMoved(await moveBackDuring('plan', 'v1.36.0'))
    assert.deepEqual((await here.belongings()).filter(isMovable).length, before.length)
    await assertCameBack('v1.36.0')
    prove('clusterctl', version, 'move while a run plans: ends unchanged, runs in the target')
  })

  it('is destroyed only when somebody asks for it', async () => {
    await here.api.remove(here.kinds.cluster, 'demo')
    await until(here, 'the cluster is gone', async () => !(await here.api.find(here.kinds.cluster, 'demo')), 300)
    assert.deepEqual(watched.ledger(), [...MADE, 'destroyed control plane', 'destroyed network'])
    prove('clusterctl', version, 'deletion after four moves, in order', 'nothing destroyed before')
  })
})
