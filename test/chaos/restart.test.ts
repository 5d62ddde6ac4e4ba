// `capt up` is stopped or killed at random moments of the creation, the upgrade and the deletion of a simulated cluster, and
// started again with the same command line. Every cluster ends as asked, nothing is made twice, no process is left.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { type Shipped, shippedProgram } from '../shipped/support.ts'
import { type RestartedHome, restartedHome } from '../support/restarted-home.ts'
import { findTool } from '../support/tools.ts'
import { randomOf, record, seedsToRun } from './campaign.ts'

const PHASES = ['create', 'upgrade', 'delete'] as const
/** Three phases with one restart each, and a fourth anywhere: 13 seeds are more than fifty. */
const SEEDS = 13

it('the campaign of restarts has its Terraform', () => assert.ok(findTool('terraform')))

describe('a home that is restarted at random moments', { concurrency: 2 }, () => {
  for (const seed of seedsToRun('restarts', SEEDS))
    describe(`seed ${seed}`, () => {
      let shipped: Shipped
      before(() => {
        shipped = shippedProgram()
      })
      after(() => shipped.end())
      it('ends as asked, makes nothing twice and leaves no process', () =>
        record('restarts', seed, () => live(shipped, seed)))
    })
})

async function live(shipped: Shipped, seed: number): Promise<object> {
  const random = randomOf(seed)
  const home = await restartedHome(shipped, `seed-${seed}`)
  const restarts: string[] = []
  /** Strikes between now and a few seconds later: the phase is still under way, or just over. */
  const strike = async (phase: string) => {
    const delayMs = random(4000)
    const signal = random(2) === 0 ? 'SIGKILL' : 'SIGTERM'
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    await home.restart(signal)
    restarts.push(`${signal} ${delayMs} ms into ${phase}`)
  }
  const strikes = (phase: (typeof PHASES)[number], twice: string) => (phase === twice ? 2 : 1)
  const twice = PHASES[random(PHASES.length)]!
  const steps: Readonly<Record<(typeof PHASES)[number], (home: RestartedHome) => Promise<void>>> = {
    create: (one) => one.create(),
    upgrade: (one) => one.upgrade('v1.36.0'),
    delete: (one) => one.remove(),
  }
  for (const phase of PHASES) {
    await steps[phase](home)
    for (let i = 0; i < strikes(phase, twice); i++) await strike(phase)
    if (phase === 'create') await home.untilReady()
    if (phase === 'upgrade') await home.untilReady('v1.36.0')
    if (phase === 'delete') await home.untilGone()
    if (phase !== 'delete') await home.assertKubeconfigWorks()
  }
  home.assertOnce(true)
  await home.home().stop()
  const left = shipped.processes().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' '))
  assert.deepEqual(left, [])
  return { restarts }
}
