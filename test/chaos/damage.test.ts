// The campaign over damaged records; campaign.ts says how trials are chosen and how it is resumed.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type EngineWorld, engineWorld, hasTerraform, type Manager } from '../engine-world.ts'
import { record, seedsToRun } from './campaign.ts'
import { describeTrial, runTrial, trialOf } from './damage.ts'

describe('damaged records', () => {
  let world: EngineWorld
  const managed = {} as { manager: Manager }
  before(async () => {
    assert.ok(hasTerraform, 'terraform or tofu must be on the PATH')
    world = await engineWorld()
    managed.manager = await world.manager()
  })
  after(() => world.close())

  for (const seed of seedsToRun(300))
    it(describeTrial(trialOf(seed)), () => record(seed, () => runTrial(world, managed, trialOf(seed))))
})
