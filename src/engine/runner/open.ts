// The first steps of a run: take the lock, open the saved state, and decide which state holds.
import { mkdirSync, rmSync } from 'node:fs'
import { isCaptError, messageOf, pause } from '#lib'
import { acquireLock, type Lock, lockOf, RENEW_MS } from '../lock/lock.ts'
import { livenessOf, ownIdentity } from '../lock/processes.ts'
import { suspectsAfter } from '../record/in-flight.ts'
import { followsLostRun } from '../record/record.ts'
import { takeAside } from '../record/slots.ts'
import type { RunContext } from './context.ts'
import { RunFailure, toRunFault } from './failure.ts'
import { claimFolder, rebuildLostRecord } from './inputs/inputs.ts'
import { rootOf } from './inputs/layout.ts'
import { mayHaveTerraform, waitForOrphan } from './process/terraform-process.ts'
import { readEvidence } from './record/marked-messages.ts'
import type { CopiesWorld } from './state/run-copies.ts'
import { WorkspaceState } from './state/workspace-state.ts'
import type { Claimed, Locked, Opened, Settled } from './values.ts'

const LOCK_WAIT_MS = 60_000
const LOCK_POLL_MS = 200

/** Renewed until the run has ended. */
export async function takeLock(context: RunContext, claimed: Claimed): Promise<Locked> {
  const lock = await acquire(context)
  const timer = setInterval(() => void renew(context, lock), RENEW_MS)
  return { ...claimed, lock, stopRenewing: () => clearInterval(timer) }
}

async function acquire({ request, world }: RunContext): Promise<Lock> {
  const { owner, runId, verb, tool } = request
  const { objects, clock, handover } = world
  if (handover?.isLocked) return lockOf(objects, clock, owner, runId)
  const holder = ownIdentity()
  const ask = () => acquireLock(objects, clock, { owner, runId, verb, holder, toolVersion: tool.version })
  let answer = await ask()
  // A runner of this machine that has closed its run is about to release the lock.
  const until = clock.monotonic() + LOCK_WAIT_MS
  while (answer.is === 'busy' && livenessOf(answer.holder) === 'alive' && clock.monotonic() < until) {
    await pause(clock, LOCK_POLL_MS)
    answer = await ask()
  }
  if (answer.is === 'held') return answer.lock
  if (answer.is === 'foreign') {
    throw new RunFailure({
      kind: 'locked',
      code: 'CAPT_STATE_LOCKED',
      message: `the state is locked by somebody else: ${answer.who}`,
      hint: `wait for them; if they are gone for good: ${answer.command}`,
    })
  }
  throw new RunFailure({
    kind: 'locked',
    code: 'CAPT_RUN_HOLDER_UNKNOWN',
    message: `the state is locked by a run on ${answer.holder.host} that cannot be proven dead`,
    hint: `end process ${answer.holder.pid} on ${answer.holder.host}, or let it finish`,
  })
}

async function renew(context: RunContext, lock: Lock): Promise<void> {
  try {
    await lock.renew()
  } catch (error) {
    context.note(`Renewing the lock failed: ${messageOf(error)}`)
    if (isCaptError(error, 'CAPT_LOCK_LOST')) context.stopping.request('fenced')
  }
}

export async function openState(context: RunContext, locked: Locked): Promise<Opened> {
  const { folder, request, writer, stopping, world } = context
  const { objects, clock, log, handover } = world
  const { owner, runId } = request
  const isTakeOver = followsLostRun(writer.record)
  // Where the folder is gone, nothing shows whether Terraform is still at work in it.
  const mayHaveOrphan = isTakeOver || mayHaveTerraform(folder)
  await rebuildLostRecord(context)
  claimFolder(folder, owner, writer.record)
  mkdirSync(folder.work, { recursive: true, mode: 0o700 })
  const state = await WorkspaceState.open(
    {
      objects,
      owner,
      folder,
      clock,
      log,
      runId,
      record: () => writer.record,
      announce: (change) => writer.update(change),
      onFenced: () => stopping.request('fenced'),
      onTooLarge: (error) => stopping.request('state', toRunFault(error)),
      note: (text) => context.note(text),
      ...slotsOf(context),
    },
    { seen: handover?.saved, isTakeOver },
  )
  return { ...locked, state, mayHaveOrphan }
}

/** Where a run may store copies only in slots: in a Job. */
function slotsOf({ slots }: RunContext): Pick<CopiesWorld, 'slots'> {
  if (!slots) return {}
  return { slots: { take: (parts) => slots.take(parts), release: (freed) => slots.release(freed), takeAside } }
}

/** Waits for the Terraform of an earlier runner to end, decides which state holds, and completes the suspects. */
export async function settleState(context: RunContext, opened: Opened): Promise<Settled> {
  const { folder, request, writer, stopping, world } = context
  const { workspace, graceSeconds } = request
  const { state, mayHaveOrphan } = opened
  const orphan = { clock: world.clock, stop: stopping.signal, graceMs: graceSeconds * 1000 }
  if (mayHaveOrphan && (await waitForOrphan(folder, orphan))) {
    context.note('The runner before this one died; its Terraform has ended now')
  }
  await state.settle(workspace ? rootOf(folder, workspace) : folder.work)
  const { inFlight } = writer.record
  const evidence = readEvidence(folder, inFlight, new Set(state.info?.addresses))
  const suspects = suspectsAfter(inFlight, evidence, request.runId)
  for (const { address, unconfirmed } of suspects) {
    const was = unconfirmed
      ? 'may have been begun when the run was lost'
      : 'was being worked on when Terraform was killed'
    context.note(`${address} ${was}; check it`)
  }
  const more = inFlight && !evidence.isComplete ? inFlight.more : 0
  if (more > 0) context.note(`${more} more may have been begun; the record has no names of them`)
  for (const path of [folder.messages, folder.errors]) rmSync(path, { force: true })
  return { ...opened, suspects, isSettled: true }
}
