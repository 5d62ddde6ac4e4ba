// What a change of replicas costs: one run for each new machine, requested at once within the limit of a set, and none for
// the machines that are there. In memory, because there every request for a run is counted.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { CAPTMachine, CAPTMachineSet, conditionOf, WorkspaceTemplateApply } from '#api'
import { MOST_AT_ONCE } from '../../../src/controllers/machine-set/replicas.ts'
import { aMachineSet, withMachines } from '../../support/cluster/machine-world.ts'
import { aCluster, applyAll, type ClusterWorld, clusterWorld } from '../../support/cluster/world.ts'

describe('a CAPTMachineSet', () => {
  let world: ClusterWorld
  /** At the start of each run of a machine: how many were requested and are not done. */
  const open: number[] = []
  const applies = () => world.cluster.storage.list(WorkspaceTemplateApply).filter(isOfMachine)
  const isOfMachine = ({ metadata }: { readonly metadata: { readonly name: string } }) =>
    metadata.name.endsWith('-machine')
  const runs = () => world.ledger.filter(({ name }) => name.endsWith('-machine'))

  before(async () => {
    const options = withMachines()
    world = await clusterWorld({
      ...options,
      async onRun(entry) {
        if (entry.name.endsWith('-machine') && entry.verb === 'apply')
          open.push(applies().filter((apply) => conditionOf(apply, 'Ready')?.status !== 'True').length)
        await options.onRun?.(entry)
      },
    })
    await applyAll(world, [...aCluster(), aMachineSet('workers', 3)])
    await world.settle()
  })
  after(() => world.stop())

  const scale = async (replicas: number) => {
    const before = runs().length
    open.length = 0
    await world.edit(CAPTMachineSet, 'workers', { spec: { replicas } })
    await world.settle()
    return runs().slice(before)
  }
  const assertAvailable = (count: number) => {
    const { status } = world.get<CAPTMachineSet>(CAPTMachineSet, 'workers')!
    assert.deepEqual([status?.replicas, status?.availableReplicas], [count, count])
  }

  it('makes three machines with three runs', () => {
    assertAvailable(3)
    assert.equal(runs().length, 3)
  })

  it('scales from 3 to 10 with one run for each new machine and none for the old, all requested at once', async () => {
    const old = runs().map(({ name }) => name)
    const made = await scale(10)
    assertAvailable(10)
    assert.equal(made.length, 7)
    assert.equal(new Set(made.map(({ name }) => name)).size, 7)
    assert.ok(made.every(({ name, verb }) => verb === 'apply' && !old.includes(name)))
    assert.equal(Math.max(...open), 7)
  })

  it(`requests at most ${MOST_AT_ONCE} at once, and still runs each once`, async () => {
    const made = await scale(33)
    assertAvailable(33)
    assert.equal(new Set(made.map(({ name }) => name)).size, 23)
    assert.equal(made.length, 23)
    assert.equal(Math.max(...open), MOST_AT_ONCE)
  })

  it('scales down with one destroy for each machine that goes, and no run for those that stay', async () => {
    const gone = await scale(3)
    assertAvailable(3)
    assert.equal(gone.length, 30)
    assert.ok(gone.every(({ verb }) => verb === 'destroy'))
    assert.equal(new Set(gone.map(({ name }) => name)).size, 30)
  })

  it('changes tags with one run for each machine and labels with none, and replaces nothing', async () => {
    const names = () => world.cluster.storage.list(CAPTMachine).map(({ metadata }) => metadata.name)
    const machines = names()
    const change = async (spec: object) => {
      const before = runs().length
      await world.edit(CAPTMachineSet, 'workers', { spec: { template: { spec } } })
      await world.settle()
      return runs().slice(before)
    }
    const tagged = await change({ tags: { team: 'a' } })
    assert.deepEqual(
      tagged.map(({ verb, name }) => `${verb} ${name}`).sort(),
      machines.map((name) => `apply ${name}-machine`).sort(),
    )
    assert.deepEqual(await change({ labels: { tier: 'web' } }), [])
    assert.deepEqual(names(), machines)
    assertAvailable(3)
  })
})
