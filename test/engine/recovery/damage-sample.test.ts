// A fixed sample of the campaign of faults, for every test run. A seed that ever failed joins it.
import { describe, it } from 'node:test'
import { obstacleTo } from '../../chaos/disruptions.ts'
import { describeTrial, runTrial, trialOf } from '../../chaos/trial.ts'
import { hasTerraform } from '../../support/engine/world.ts'

/** What went wrong once, by seed; the others are one of each kind. */
const SEEDS: Readonly<Record<number, string>> = {
  1: 'one of each kind',
  2: 'a damaged record did not stall the apply',
  3: 'as 2',
  4: 'as 2',
  5: 'inputs were left behind',
  6: 'one of each kind',
  7: 'as 2',
  8: 'one of each kind',
  9: 'one of each kind',
  10: 'a state that only the work folder had was not destroyed',
  12: 'one of each kind',
  83: 'a run whose record was deleted forgot what it had in flight',
  99: 'a state that was deleted under a run was not saved again',
  105: 'a damaged record beside nothing else counted as an empty workspace',
  122: 'a copy of the state that no record named was left behind',
  138: 'what a person puts back may be written by the product in the same instant',
  141: 'as 122',
  152: 'one of each kind',
  154: 'one of each kind',
  161: 'one of each kind',
  166: 'a tainted resource is destroyed without a line in the ledger',
  173: 'what a lost pod had made in its last second was named by nobody',
  203: 'a lock outlived a pod that had closed its run',
  230: 'the next attempt waited by a clock that was an hour ahead',
  235: 'as 230',
  248: 'as 203',
  263: 'as 173',
  303: 'one of each kind',
  307: 'one of each kind',
  317: 'what a run had planned did not count when record, state and pod were lost together',
  346: 'a run that ended before it was stopped has no successor to wait for',
  354: 'a run that was lost with its record before a state was saved counted as one that had made nothing',
}

describe('a workspace', { skip: !hasTerraform, concurrency: 3 }, () => {
  for (const seed of Object.keys(SEEDS).map(Number))
    it(`loses nothing, ${describeTrial(trialOf(seed))}`, {
      skip: obstacleTo(trialOf(seed).fault) ?? false,
    }, async () => {
      await runTrial(trialOf(seed))
    })
})
