// A bounded part of the kill matrix; test/chaos has all of it. After each kill a new manager finds everything again.
import { describe, it } from 'node:test'
import { hasTerraform } from './engine-world.ts'
import { surviveAbsence, surviveStubbornResource, surviveTwoManagers } from './recovery-more.ts'
import { killAndRecover } from './recovery-story.ts'

if (hasTerraform) {
  describe('a run survives', { concurrency: 2 }, () => {
    for (const [victim, moment] of [
      ['manager', 'apply'],
      ['runner', 'apply'],
      ['terraform', 'apply'],
      ['all', 'first'],
      ['machine', 'apply'],
      ['all', 'before-start'],
      ['runner', 'after-apply'],
      ['all', 'destroy'],
    ] as const) {
      it(`kill -9 of ${victim} at the moment ${moment}`, () => killAndRecover(victim, moment))
    }
    it('an API server that is away for three seconds', () => surviveAbsence(3_000))
    it('two managers at once', () => surviveTwoManagers())
    it('being told to stop while a resource does not listen', () => surviveStubbornResource())
  })
}
