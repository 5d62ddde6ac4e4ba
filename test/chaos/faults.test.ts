// The campaign of faults; campaign.ts says how trials are chosen and how it is resumed. Each trial has a server of its own.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { hasTerraform } from '../support/engine/world.ts'
import { record, seedsToRun, summarize } from './campaign.ts'
import { obstacleTo } from './disruptions.ts'
import { describeTrial, runTrial, SEEDS, trialOf } from './trial.ts'

const AT_ONCE = 3

it('the campaign of faults has its Terraform', () => assert.ok(hasTerraform, 'terraform or tofu must be on the PATH'))

describe('nothing is lost, made twice or left behind', { concurrency: AT_ONCE }, () => {
  for (const seed of seedsToRun('faults', SEEDS))
    it(describeTrial(trialOf(seed)), { skip: obstacleTo(trialOf(seed).fault) ?? false }, () =>
      record('faults', seed, () => runTrial(trialOf(seed))),
    )
  after(() => console.log(summarize('faults', SEEDS)))
})
