import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonDelivery } from '#api'
import { defaultPipeline } from '#controllers'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus, HOME } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const isReady = (name: string) => conditionStatus(world.delivery(name), 'Ready') === 'True'

describe('the numbers of add-ons', () => {
  it('two stages settle with at most 40 writes per cluster, core included, however many there are', async () => {
    const shipped = defaultPipeline(HOME)
    world = await addonsWorld({
      pipeline: { ...shipped, spec: { ...shipped.spec, stages: shipped.spec.stages.slice(0, 2) } },
    })
    const names = Array.from({ length: 24 }, (_, i) => `c${i}`)
    for (const name of names) await world.addCluster(name)
    await world.until('all are ready', () => names.every(isReady), 110)
    const perCluster = world.home.writes.length / names.length
    assert.ok(perCluster <= 40, `${perCluster.toFixed(1)} writes per cluster`)
  })

  it('a settled cluster costs no write at all, and is checked again within twelve minutes', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', () => isReady('demo'))
    await world.idle(2)
    const writes = world.home.writes.length
    const looks = workload.requests.length
    for (let i = 0; i < 150; i++) await world.clock.advance(5000)
    assert.equal(world.home.writes.length, writes)
    assert.ok(workload.requests.length > looks, 'somebody looked')
  })

  it('the manager may be killed after any write: everything arrives in order all the same', async () => {
    for (let kill = 1; kill <= 31; kill += 5) {
      world = await addonsWorld()
      await world.addCluster('demo')
      await world.until(`write ${kill} is done`, () => world.home.writes.length >= kill || isReady('demo'))
      await world.restart()
      await world.until(`ready after a kill at write ${kill}`, () => isReady('demo'))
      assert.equal(
        world.home.peek(Cluster, { namespace: 'default', name: 'demo' })?.metadata.labels?.['karpenter.sh/enabled'],
        'true',
      )
      assert.equal(world.home.storage.list(AddonDelivery).length, 1)
      if (kill <= 26) await world.close()
    }
  })
})
