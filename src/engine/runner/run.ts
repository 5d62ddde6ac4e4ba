// One run, from claim to close, as a sequence of steps. Whenever a runner dies, its successor finds things in an order that
// lets it resume: record before lock, lock before state, frozen inputs before anything is made, saved state before the
// record is closed.
import { CaptError, messageOf } from '#lib'
import { ownIdentity } from '../lock/processes.ts'
import { suspectsInFlight } from '../record/in-flight.ts'
import { retryingObjects } from '../retrying-objects.ts'
import { apply } from './apply.ts'
import { checkTool } from './check-tool.ts'
import { close, type RunEnd } from './close.ts'
import { RunContext, type RunnerWorld } from './context.ts'
import { diskFull, RunFailure } from './failure.ts'
import { freeze } from './freeze.ts'
import { folderOf, readFact } from './inputs/folder.ts'
import { wipeCredentials } from './inputs/layout.ts'
import { openState, settleState, takeLock } from './open.ts'
import { review } from './plan/review.ts'
import { plan } from './plan.ts'
import { authorize, hasNothingToDestroy, initialize, layOutInputs, resolveInputs } from './prepare.ts'
import { guardDisk, hasRoom } from './process/disk.ts'
import { isFor } from './record/handover.ts'
import { RecordWriter } from './record/record-writer.ts'
import type { Claimed, Reached } from './values.ts'

/** After the deadline and the grace period, an API server that is away is retried this long; then the runner ends. */
const SAVE_RETRY_MS = 10 * 60_000

export async function runOnce(path: string, world: RunnerWorld): Promise<RunEnd> {
  const folder = folderOf(path)
  const request = readFact(folder, 'request')
  if (!request) {
    throw new CaptError('CAPT_RUN_UNKNOWN', `there is no run in ${path}`, {
      hint: 'runs are started by capt up and capt manager, not by hand',
    })
  }
  const { clock, log } = world
  const deadline = clock.monotonic() + request.timeoutSeconds * 1000
  const lastMs = deadline + request.graceSeconds * 1000 + SAVE_RETRY_MS
  const isHopeless = () => world.canReturn?.() === false
  const objects = retryingObjects(world.objects, { clock, log, until: () => lastMs, isHopeless })
  const handover = world.handover && isFor(world.handover, request.runId) ? world.handover : undefined
  const known = handover ? { ...request, seen: handover.seen } : request
  const writer = await RecordWriter.claim(objects, known, folder, handover?.seen.record.run?.runner ?? ownIdentity())
  if (!writer) return 'not-ours'
  return run(new RunContext(folder, request, writer, { ...world, objects, unretried: world.objects, handover }))
}

async function run(context: RunContext): Promise<RunEnd> {
  const unwatch = context.watchTime()
  const { reached, failure } = await attempt(context)
  try {
    if (failure !== undefined) context.world.log.warn('Run failed', { error: context.redact(messageOf(failure)) })
    return await close(context, reached, failure)
  } finally {
    unwatch()
    reached.stopRenewing?.()
    reached.state?.stop()
    wipeCredentials(context.folder)
  }
}

interface Attempt {
  readonly reached: Reached
  /** What went wrong, if anything did. */
  readonly failure?: unknown
}

async function attempt(context: RunContext): Promise<Attempt> {
  const { request, stopping, writer } = context
  const claimed: Claimed = { suspects: suspectsInFlight(writer.record.inFlight) }
  let reached: Reached = claimed
  const at = <T extends Reached>(value: T): T => {
    reached = value
    return value
  }
  let freeDisk = () => {}
  try {
    const locked = at(await takeLock(context, claimed))
    if (!hasRoom(request.shared)) throw new RunFailure(diskFull())
    freeDisk = guardDisk(request.shared, () => stopping.request('disk'))
    const opened = at(await openState(context, locked))
    const settled = at(await settleState(context, opened))
    if (hasNothingToDestroy(context, settled)) return { reached }
    const resolved = at(checkTool(context, await resolveInputs(context, settled)))
    const authorized = at(await authorize(context, resolved))
    const laidOut = at(await layOutInputs(context, authorized))
    const prepared = at(await initialize(context, laidOut))
    const planned = at(await plan(context, prepared))
    const reviewed = at(await review(context, planned))
    if (reviewed.proposed || reviewed.drift) return { reached }
    const frozen = at(await freeze(context, reviewed))
    at(await apply(context, frozen))
    return { reached }
  } catch (error) {
    return { reached, failure: error ?? new Error('something threw nothing') }
  } finally {
    freeDisk()
  }
}
