// The campaign over damaged records. SEEDS=1-300 chooses the trials; LEDGER=FILE makes it resumable: a seed that has a line
// there is not run again.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { type EngineWorld, engineWorld, hasTerraform, type Manager } from '../engine-world.ts'
import { appendOutcome, describeTrial, runTrial, trialOf } from './damage.ts'

const [first = 1, last = 300] = (process.env['SEEDS'] ?? '1-300').split('-').map(Number)
const ledger = process.env['LEDGER']
const done = new Set(
  ledger && existsSync(ledger)
    ? readFileSync(ledger, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { seed: number }).seed)
    : [],
)
const seeds = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((seed) => !done.has(seed))

describe('damaged records', () => {
  let world: EngineWorld
  const managed = {} as { manager: Manager }
  before(async () => {
    assert.ok(hasTerraform, 'terraform or tofu must be on the PATH')
    world = await engineWorld()
    managed.manager = await world.manager()
  })
  after(() => world.close())

  for (const seed of seeds)
    it(describeTrial(trialOf(seed)), async () => {
      try {
        const outcome = await runTrial(world, managed, trialOf(seed))
        if (ledger) appendOutcome(ledger, outcome)
      } catch (error) {
        if (ledger) appendOutcome(ledger, { seed, failed: String(error) })
        throw error
      }
    })
})
