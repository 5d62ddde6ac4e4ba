// One kill and what comes after it, written once for the whole matrix.
import assert from 'node:assert/strict'
import { WorkspaceTemplateApply } from '#api'
import type { InFlight } from '#engine'
import { type Phase, recoveryWorld, type Victim } from './recovery-world.ts'
import { isReady } from './world.ts'

const KEY = { namespace: 'default', name: 'victim' }
const HELD = [2, 3, 4, 5].map((i) => `terraform_data.x[${i}]`)
const isNamed = (inFlight: InFlight | undefined, address: string) =>
  inFlight?.addresses.some((one) => one.address === address && !one.unconfirmed) ?? false

export async function killAndRecover(victim: Victim, phase: Phase): Promise<void> {
  // After the loss of a machine only what was written down is known; time for that is part of the promise.
  const isHeld = victim === 'machine' && (phase === 'first' || phase === 'apply')
  const world = await recoveryWorld({ pauseAt: phase, hold: isHeld })
  try {
    let manager = await world.startManager()
    await world.createApply()
    if (phase === 'destroy') {
      await world.until('victim', isReady)
      await world.connection.objects.delete(WorkspaceTemplateApply, KEY)
    }
    await world.reach(phase)
    if (isHeld) await world.untilRecord(({ inFlight }) => HELD.every((one) => isNamed(inFlight, one)))
    const made = await world.kill(victim, manager)
    if (victim === 'manager' || victim === 'all' || victim === 'machine') manager = await world.startManager()

    if (phase !== 'destroy') {
      await world.until('victim', isReady)
      await world.assertWhole()
      if (victim === 'manager') {
        assert.equal((await world.record())?.run?.resumed, 0, 'a run whose runner lives is adopted, not resumed')
        assert.deepEqual((await world.record())?.suspects, [])
      }
      const isTerraformDead = victim === 'terraform' || victim === 'all' || victim === 'machine'
      const killedAtWork = isTerraformDead && (phase === 'first' || phase === 'apply') && made < 6
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
