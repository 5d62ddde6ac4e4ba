// One kill and what comes after it, told once for the whole matrix.
import assert from 'node:assert/strict'
import { WorkspaceTemplateApply } from '#api'
import type { InFlight } from '#engine'
import { isReady } from './engine-world.ts'
import { type Moment, recoveryWorld, type Victim } from './recovery-world.ts'

const KEY = { namespace: 'default', name: 'victim' }
const HELD = [2, 3, 4, 5].map((i) => `terraform_data.x[${i}]`)
const isNamed = (inFlight: InFlight | undefined, address: string) =>
  inFlight?.addresses.some((one) => one.address === address) ?? false

export async function killAndRecover(victim: Victim, moment: Moment): Promise<void> {
  // The loss of a machine can tell only what was written down; time for that is part of the promise.
  const isHeld = victim === 'machine' && (moment === 'first' || moment === 'apply')
  const world = await recoveryWorld({ pauseAt: moment, hold: isHeld })
  try {
    let manager = await world.startManager()
    await world.createApply()
    if (moment === 'destroy') {
      await world.until('victim', isReady)
      await world.connection.objects.delete(WorkspaceTemplateApply, KEY)
    }
    await world.reach(moment)
    if (isHeld) await world.untilRecord(({ run }) => HELD.every((one) => isNamed(run?.inFlight, one)))
    const made = await world.kill(victim, manager)
    if (victim === 'manager' || victim === 'all' || victim === 'machine') manager = await world.startManager()

    if (moment !== 'destroy') {
      await world.until('victim', isReady)
      await world.assertWhole()
      if (victim === 'manager') {
        assert.equal((await world.record())?.run?.resumed, 0, 'a run whose runner lives is adopted, not taken up')
        assert.deepEqual((await world.record())?.suspects, [])
      }
      const isTerraformDead = victim === 'terraform' || victim === 'all' || victim === 'machine'
      const killedAtWork = isTerraformDead && (moment === 'first' || moment === 'apply') && made < 6
      if (killedAtWork) assert.notDeepEqual((await world.record())?.suspects, [], 'what was in flight is named')
      await world.connection.objects.delete(WorkspaceTemplateApply, KEY)
    }
    await world.untilGone('victim')
    const gone = new Set(world.ledger().filter((line) => line.startsWith('gone')))
    assert.equal(gone.size, 6, 'every resource was destroyed')
  } finally {
    await world.close()
  }
}
