// A bounded part of the kill matrix; test/chaos has all of it. After each kill a new manager finds everything again.
import { describe, it } from 'node:test'
import { surviveAbsence, surviveStubbornResource, surviveTwoManagers } from '../../support/engine/recovery-more.ts'
import { killAndRecover } from '../../support/engine/recovery-story.ts'
import { hasTerraform } from '../../support/engine/world.ts'

if (hasTerraform) {
  describe('a run survives', { concurrency: 2 }, () => {
    for (const [victim, phase] of [
      ['manager', 'apply'],
      ['runner', 'apply'],
      ['terraform', 'apply'],
      ['all', 'first'],
      ['machine', 'apply'],
      ['all', 'before-start'],
      ['runner', 'after-apply'],
      ['all', 'destroy'],
    ] as const) {
      it(`kill -9 of ${victim} in the phase ${phase}`, () => killAndRecover(victim, phase))
    }
    it('an API server that is away for three seconds', () => surviveAbsence(3_000))
    it('two managers at once', () => surviveTwoManagers())
    it('a stop request while a resource ignores it', () => surviveStubbornResource())
  })
}
