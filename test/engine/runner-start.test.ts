// A runner that cannot be started: the program is gone, or the machine has no room for another process.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { conditionOf } from '#api'
import { type EngineWorld, engineWorld, hasTerraform } from '../support/engine/world.ts'

describe('a runner that cannot be started', { skip: hasTerraform ? false : 'terraform is missing' }, () => {
  let world: EngineWorld
  before(async () => {
    world = await engineWorld()
  })
  after(() => world.close())

  it('is an error with its cause, and leaves no record of a run that never was', async () => {
    await world.manager({ runner: ['/nonexistent/capt'] })
    await world.make('none', 'resource "terraform_data" "none" {}\n')
    const apply = await world.until('none', (one) => conditionOf(one, 'Ready')?.reason === 'InternalError')
    assert.match(conditionOf(apply, 'Ready')?.message ?? '', /CAPT_RUNNER_NOT_STARTED: .*ENOENT/)
    assert.equal(apply.status?.run, undefined)
  })
})
