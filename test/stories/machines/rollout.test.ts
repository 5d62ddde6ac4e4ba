// Updates of a CAPTMachineDeployment that go wrong after the instance was made: a Node that never joins, and a workload
// cluster that does not answer. In memory, because there minutes pass at once and every run is counted.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { CAPTMachine, CAPTMachineDeployment, CAPTMachineSet, conditionOf, PAUSED_ANNOTATION } from '#api'
import { memoryCluster } from '#testing'
import { aMachineDeployment, withMachines } from '../../support/cluster/machine-world.ts'
import { aCluster, applyAll, ClusterKind, type ClusterWorld, clusterWorld } from '../../support/cluster/world.ts'

const REPLICAS = 3
const NAME = 'workers'
const [, PLAIN] = aMachineDeployment(NAME, REPLICAS)
const SPARE_ONE = {
  ...PLAIN,
  spec: {
    ...(PLAIN as unknown as { spec: object }).spec,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
  },
}

describe('an update of a CAPTMachineDeployment', () => {
  let world: ClusterWorld
  const workload = { answers: true, joins: (_type: string) => true }
  afterEach(() => world.stop())

  async function start(deployment: typeof PLAIN): Promise<void> {
    Object.assign(workload, { answers: true, joins: () => true })
    const cluster = memoryCluster()
    const { others } = cluster
    const get = others.get.bind(others)
    others.get = (async (...args: Parameters<typeof get>) => {
      if (!workload.answers) throw new Error('connection refused')
      return await get(...args)
    }) as typeof others.get
    const options = withMachines(cluster)
    world = await clusterWorld({
      ...options,
      async onRun(entry) {
        const isMachine = entry.name.endsWith('-machine')
        if (!isMachine || workload.joins(entry.variables['instance_type'] ?? '')) await options.onRun?.(entry)
      },
    })
    await applyAll(world, [...aCluster(), [CAPTMachineDeployment, deployment]])
    await world.settle()
    assert.equal(status().availableReplicas, REPLICAS)
  }

  const read = () => world.get<CAPTMachineDeployment>(CAPTMachineDeployment, NAME)!
  const status = () => read().status ?? {}
  const machines = () => world.cluster.storage.list(CAPTMachine) as unknown as readonly CAPTMachine[]
  const staying = (type: string) =>
    machines().filter(({ spec, metadata }) => spec.instanceType === type && metadata.deletionTimestamp === undefined)
  const change = (instanceType: string) =>
    world.edit(CAPTMachineDeployment, NAME, { spec: { template: { spec: { instanceType } } } })
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 15) {
      await world.clock.advance(15_000)
      await world.settle()
    }
  }
  /** Every instance that was made is destroyed once, when all of it is deleted. */
  const assertLedger = async () => {
    await world.remove(ClusterKind, 'demo')
    await pass(60)
    assert.deepEqual(machines(), [])
    const runs = world.ledger.filter(({ name }) => name.endsWith('-machine'))
    const of = (verb: string) => runs.filter((run) => run.verb === verb).map(({ name }) => name)
    assert.deepEqual(of('destroy').toSorted(), [...new Set(of('apply'))].toSorted())
  }

  it('whose first machine never becomes a Node stops, says so, keeps the others, and is undone', async () => {
    await start(PLAIN)
    workload.joins = (type) => type !== 'm7i.xlarge'
    await change('m7i.xlarge')
    await pass(120)
    assert.equal(conditionOf(read(), 'Progressing')?.reason, 'RollingOut')
    await pass(600)
    const { status: stalled, message } = conditionOf(read(), 'Stalled')!
    assert.equal(stalled, 'True')
    assert.match(message, /No progress for 600 s: 1 of 3 machines are updated, 3 are available/)
    assert.match(conditionOf(read(), 'Ready')!.message, /capt rollout undo workers/)
    assert.equal(conditionOf(read(), 'Available')?.status, 'True')
    assert.deepEqual([staying('m7i.large').length, staying('m7i.xlarge').length], [REPLICAS, 1])

    await change('m7i.large')
    await pass(60)
    assert.deepEqual([staying('m7i.large').length, machines().length], [REPLICAS, REPLICAS])
    assert.equal(conditionOf(read(), 'Ready')?.status, 'True')
    await assertLedger()
  })

  it('while the workload cluster does not answer removes no more than maxUnavailable, and ends when it does', async () => {
    await start(SPARE_ONE as typeof PLAIN)
    workload.answers = false
    await pass(180)
    assert.equal(status().availableReplicas, 0, 'nobody knows')
    // A set that is slow, here because it is paused: the deployment looks at its machines more than once before they go.
    const [set] = world.cluster.storage.list(CAPTMachineSet)
    const pause = (paused: string | null) =>
      world.edit(CAPTMachineSet, set!.metadata.name, { metadata: { annotations: { [PAUSED_ANNOTATION]: paused } } })
    await pause('')
    await change('m7i.xlarge')
    await pass(60)
    await pause(null)
    await pass(300)
    assert.ok(staying('m7i.large').length >= REPLICAS - 1, `${staying('m7i.large').length} old machines are left`)
    workload.answers = true
    await pass(300)
    assert.deepEqual([staying('m7i.large').length, staying('m7i.xlarge').length], [0, REPLICAS])
    assert.equal(conditionOf(read(), 'Ready')?.status, 'True')
    await assertLedger()
  })
})
