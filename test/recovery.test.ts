// A bounded part of the kill matrix; test/chaos has all of it. After each kill a new manager finds everything again.
import { describe, it } from 'node:test'
import { hasTerraform } from './engine-world.ts'
import { killAndRecover } from './recovery-story.ts'

if (hasTerraform) {
  describe('a run survives', { concurrency: 2 }, () => {
    for (const [victim, moment] of [
      ['manager', 'apply'],
      ['runner', 'apply'],
      ['terraform', 'apply'],
      ['all', 'apply'],
      ['all', 'before-start'],
      ['all', 'first'],
      ['runner', 'after-apply'],
      ['all', 'destroy'],
    ] as const) {
      it(`kill -9 of ${victim} at the moment ${moment}`, () => killAndRecover(victim, moment))
    }
  })
}
