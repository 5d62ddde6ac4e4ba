// What the built manager weighs with nothing to watch, with the flags and the ports of its Deployment. The figure is the
// kernel's.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { VERSIONS } from '../support/lab.ts'
import { type Fleet, startFleet } from '../support/managers/fleet.ts'
import { AS_DEPLOYED, atRest, peakMiBOf } from '../support/managers/memory.ts'
import { prove } from '../support/proofs.ts'

const EMPTY_MIB = 72

describe('the manager in its container', () => {
  let fleet: Fleet
  before(async () => {
    fleet = await startFleet({ args: AS_DEPLOYED })
  })
  after(() => fleet?.stop())

  it(`stays within ${EMPTY_MIB} MiB when there is nothing to watch`, async () => {
    await atRest(fleet.world.manager, 'the manager is at rest')
    const peak = peakMiBOf(fleet.world.manager)
    assert.ok(peak <= EMPTY_MIB, `${peak.toFixed(1)} MiB`)
    prove('memory', VERSIONS.kube, `no cluster; at most ${EMPTY_MIB} MiB`, `${peak.toFixed(1)} MiB`)
  })
})
