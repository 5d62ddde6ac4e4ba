// A fixed sample of the damage campaign, for every test run. A seed that ever failed joins it.
import { after, before, describe, it } from 'node:test'
import { describeTrial, runTrial, trialOf } from '../chaos/damage.ts'
import { type EngineWorld, engineWorld, hasTerraform, type Manager } from '../engine-world.ts'

/** 2, 3, 4, 7: a damaged record did not stall the apply. 10: a state that only the work folder had was not destroyed. */
const SEEDS = [1, 2, 3, 4, 6, 7, 8, 9, 10, 12]

describe('a workspace with damaged records', { skip: !hasTerraform }, () => {
  let world: EngineWorld
  const managed = {} as { manager: Manager }
  before(async () => {
    world = await engineWorld()
    managed.manager = await world.manager()
  })
  after(() => world.close())

  for (const seed of SEEDS)
    it(`loses nothing, ${describeTrial(trialOf(seed))}`, async () => {
      await runTrial(world, managed, trialOf(seed))
    })
})
