// A plan that is stored outlives the machine that made it. One after the other: on a real API server they share a namespace.
import { describe, it } from 'node:test'
import { surviveWithPlan } from '../support/engine/recovery-more.ts'
import { hasTerraform } from '../support/engine/world.ts'

if (hasTerraform) {
  describe('a run whose machine is lost between plan and apply', { concurrency: 1 }, () => {
    it('goes on elsewhere with the plan that was stored', () => surviveWithPlan('same-run'))
    it('is declared gone, and the run after it applies that plan', () => surviveWithPlan('next-run'))
    it('is planned again when Terraform does not take the plan', () => surviveWithPlan('refused'))
  })
}
