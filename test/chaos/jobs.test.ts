// The campaign of kills of the engine `job`; campaign.ts says how it is resumed. Each trial has a server of its own.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hasProgram } from '../support/engine/job-world.ts'
import { hasTerraform } from '../support/engine/world.ts'
import { record, seedsToRun } from './campaign.ts'
import { describeJobTrial, JOB_SEEDS, jobTrialOf, runJobTrial } from './job-trial.ts'

const AT_ONCE = 3

it('the campaign of Jobs has its Terraform and its program', () =>
  assert.ok(hasTerraform && hasProgram, 'terraform must be on the PATH, and dist/program made by make build'))

describe('runs in Jobs lose nothing, make nothing twice and leave nothing behind', { concurrency: AT_ONCE }, () => {
  for (const seed of seedsToRun('jobs', JOB_SEEDS))
    it(describeJobTrial(jobTrialOf(seed)), () => record('jobs', seed, () => runJobTrial(jobTrialOf(seed))))
})
