// A fixed sample of the kills of the engine `job`, for every test run. A seed that ever failed joins it.
import { describe, it } from 'node:test'
import { describeJobTrial, jobTrialOf, runJobTrial } from '../../chaos/job-trial.ts'
import { hasProgram } from '../../support/engine/job-world.ts'
import { hasTerraform } from '../../support/engine/world.ts'

/** What went wrong once, by seed; the others are a pod, a manager and everything at once. */
const SEEDS: Readonly<Record<number, string>> = {
  3: 'one of each kind',
  4: 'one of each kind',
  5: 'one of each kind',
}

describe('a run in a Job', { skip: !hasTerraform || !hasProgram, concurrency: 3 }, () => {
  for (const seed of Object.keys(SEEDS).map(Number))
    it(`loses nothing, ${describeJobTrial(jobTrialOf(seed))}`, async () => {
      await runJobTrial(jobTrialOf(seed))
    })
})
