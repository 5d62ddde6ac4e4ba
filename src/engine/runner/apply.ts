// Applies exactly the plan of the run. Meanwhile the plan is stored, and the record names the resources in flight.
import { messageOf } from '#lib'
import { begunAddresses, toInFlight } from '../record/in-flight.ts'
import type { RunContext } from './context.ts'
import { RunFailure } from './failure.ts'
import { review } from './plan/review.ts'
import { makePlan } from './plan.ts'
import { progressOf } from './prepare.ts'
import { watchInFlight } from './record/in-flight.ts'
import type { Frozen } from './values.ts'

/** A plan of an earlier runner that Terraform refuses costs another plan, not the run. */
export async function apply(context: RunContext, frozen: Frozen): Promise<Frozen> {
  const { request, stopping } = context
  const { layout, terraform, plans, counts, recalled } = frozen
  if (!counts) {
    context.note('Nothing to change')
    return frozen
  }
  const stop = recordInFlight(context, frozen)
  try {
    plans.keep()
    await terraform.apply(layout, request.verb, () => plans.dropIfStale())
    return frozen
  } catch (error) {
    const hasBegun =
      terraform.progress.address !== '' || terraform.wasKilled || terraform.isFolderGone || stopping.signal.aborted
    if (!recalled || hasBegun || !(error instanceof RunFailure)) throw error
    context.note(`Planning again: Terraform refuses the earlier plan (${error.message})`)
    terraform.progress.errors.length = 0
    await plans.drop()
    const again = await makePlan(terraform, layout, request.verb)
    const reviewed = await review(context, { ...frozen, recalled: undefined, counts: again })
    if (!again || reviewed.proposed) return { ...frozen, ...reviewed }
    const inFlight = toInFlight(frozen.origin, new Map(), terraform.progress)
    await context.writer.update((record) => ({ ...record, inFlight }))
    await terraform.apply(layout, request.verb)
    return { ...frozen, ...reviewed }
  } finally {
    stop()
  }
}

/** For a runner on another machine that resumes this run: what has begun by now. */
function recordInFlight(context: RunContext, { backend, origin, state, terraform }: Frozen): () => void {
  const { writer, world } = context
  const { progress } = terraform
  return watchInFlight({
    clock: world.clock,
    // Where Terraform keeps the state itself, what it has made counts as saved.
    now: () =>
      begunAddresses(progress, backend === undefined ? state.savedAddresses : new Set(progress.finished.keys())),
    async write(begun) {
      const inFlight = toInFlight(origin, begun, progress)
      const change = progressOf(context, state, progress)
      try {
        await writer.update((record) => change({ ...record, inFlight }))
      } catch (error) {
        world.log.warn('Writing down what is in flight failed', { error: messageOf(error) })
        throw error
      }
    },
  })
}
