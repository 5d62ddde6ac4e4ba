// The last step of a run, however far it came: the state is saved, outputs are written, the record says how the run ended, and
// only then the lock is released.
import { rmSync } from 'node:fs'
import { messageOf, toTimestamp } from '#lib'
import type { RunFault } from '../faults/faults.ts'
import { suspectsAtEnd } from '../record/in-flight.ts'
import { addSuspects, closeRun, type Run, type RunRecord, type Suspect } from '../record/record.ts'
import { isTransient } from '../retrying-objects.ts'
import type { RunContext } from './context.ts'
import { toRunFault } from './failure.ts'
import { spareOf } from './freeze.ts'
import { credentialsFingerprint } from './inputs/credentials.ts'
import { pruneLogs, readFact, removeFact } from './inputs/folder.ts'
import { rebuildLostRecord } from './inputs/inputs.ts'
import { type Layout, remoteBackend, wipeBackend } from './inputs/layout.ts'
import { unknownEntries } from './plan/guard.ts'
import { type Outputs, publicOutputs, writeConnectionSecret } from './record/outputs.ts'
import type { Reached } from './values.ts'

/** `done`: closed. `not-ours`: another runner has it, or it is over. `unsaved`: the folder knows more than the server. */
export type RunEnd = 'done' | 'not-ours' | 'unsaved'

export async function close(context: RunContext, reached: Reached, failure: unknown): Promise<RunEnd> {
  const { writer, world } = context
  const { lock, state, terraform, plans, bundles } = reached
  try {
    // From here on this run reports, in place of the last report: a lost record is rebuilt from that.
    if (!state) await rebuildLostRecord(context)
  } catch (error) {
    return giveUp(context, error)
  }
  writer.progress((record) => ({ ...record, run: { ...record.run!, phase: 'Save' } }))
  let fault = failure === undefined ? undefined : toRunFault(failure)
  try {
    await Promise.all([
      state?.flush(terraform !== undefined),
      reached.proposed && failure === undefined ? undefined : plans?.drop(),
      // A pause may be the start of a move of what is stored here.
      fault?.kind === 'paused' ? undefined : bundles?.sweep(),
    ])
  } catch (error) {
    // Without an API server nothing is closed: the folder has the state, and the next run begins with it.
    if (isTransient(error)) return giveUp(context, error)
    fault ??= toRunFault(error)
  }
  if (fault) context.note(`Failed: ${fault.message}`)
  try {
    await closeRecord(context, { ...reached, suspects: suspectsOf(context, reached) }, fault)
  } catch (error) {
    return giveUp(context, error)
  }
  try {
    // The folder is ours as long as the lock is.
    tidy(context)
    if (reached.layout) wipeBackend(context.folder, reached.layout)
    await lock?.release()
  } catch (error) {
    world.log.warn('Cleaning up failed', { error: messageOf(error) })
  }
  return 'done'
}

function giveUp(context: RunContext, error: unknown): RunEnd {
  context.world.log.error('Closing the run failed', { error: context.redact(messageOf(error)) })
  return 'unsaved'
}

/** Terraform may leave more in doubt than the run began with. A state that it wrote into a folder that is gone is lost. */
function suspectsOf({ request, stopping }: RunContext, { suspects, state, terraform }: Reached): readonly Suspect[] {
  if (!terraform) return suspects
  const isStateLost = terraform.isFolderGone || stopping.reason === 'folder'
  const by = isStateLost ? 'state-lost' : terraform.wasKilled ? 'killed' : 'itself'
  const saved = new Set(state?.info?.addresses)
  return [...suspects, ...suspectsAtEnd(terraform.progress, { saved, by }, request.runId)]
}

/** Deletes what only an interrupted run needs: some of it is secret. */
function tidy({ folder, writer, request }: RunContext): void {
  for (const path of [folder.messages, folder.errors, folder.plan, folder.vars]) {
    rmSync(path, { recursive: true, force: true })
  }
  for (const fact of ['cancel', 'request'] as const) {
    if (readFact(folder, fact)?.runId === request.runId) removeFact(folder, fact)
  }
  pruneLogs(folder, writer.record.history)
}

async function closeRecord(context: RunContext, reached: Reached, failure: RunFault | undefined): Promise<void> {
  const { request, writer, runLog, world } = context
  const { layout, terraform, state, plans, bundles, suspects, isSettled } = reached
  const finishedAt = toTimestamp(world.clock.now())
  const proposed = failure === undefined ? reached.proposed : undefined
  const drift = failure === undefined ? reached.drift : undefined
  const hasOnlyPlanned = proposed !== undefined || drift !== undefined
  const isApplied = failure === undefined && !hasOnlyPlanned && request.verb === 'apply' && layout !== undefined
  const outputs = isApplied ? await outputsOf(reached) : {}
  const found = failure ?? (isApplied ? await handOut(context, layout, outputs) : undefined)
  const fault = found && { ...found, message: context.redact(found.message) }
  const phase = hasOnlyPlanned
    ? 'Planned'
    : fault === undefined
      ? 'Succeeded'
      : isGivenUp(fault.kind)
        ? 'Cancelled'
        : 'Failed'
  const credentials = await credentialFacts(context, reached)
  context.note(phase === 'Succeeded' ? 'Done' : `Ended: ${phase}`)
  const log = runLog.finish()
  const dropped = await reached.dropped
  const withoutCopies = await state?.tidyCopies()
  await writer.update(
    (record): RunRecord => {
      const {
        plan,
        spare,
        inFlight,
        proposed: earlier,
        ...closed
      } = closeRun(addSuspects(record, suspects), phase, finishedAt, fault, terraform?.hasApplied !== true)
      const left = plans ? plans.left : plan
      // A run that ended before it changed anything leaves the plan that waits or was approved.
      const waiting = proposed ?? (fault && terraform?.hasApplied !== true ? earlier : undefined)
      return {
        ...(withoutCopies ? withoutCopies(closed) : closed),
        ...(inFlight && !isSettled ? { inFlight } : {}),
        ...(left ? { plan: left } : {}),
        ...(waiting ? { proposed: waiting } : {}),
        ...(drift ? { drift } : {}),
        backups: closed.backups.filter(({ serial }) => !dropped?.has(serial)),
        ...spareOf(bundles ? bundles.left(spare) : (spare ?? [])),
        ...(state?.saved ? { state: state.saved } : {}),
        ...(isApplied
          ? {
              applied: { hash: layout.workspace.hash, at: finishedAt, runId: request.runId, ...publicOutputs(outputs) },
            }
          : {}),
        run: {
          ...closed.run!,
          ...(terraform ? { plan: terraform.progress.counts } : {}),
          ...(reached.changes && !proposed ? { changes: reached.changes } : {}),
          ...undeclaredOf(terraform),
          ...unknownGuardOf(context, reached),
          ...credentials,
        },
      }
    },
    log,
    proposed && reached.planText,
  )
}

/** Terraform names the first three. The field is left out where there is none. */
function undeclaredOf(terraform: Reached['terraform']): Pick<Run, 'undeclared'> {
  const undeclared = [...(terraform?.progress.undeclared ?? [])].sort()
  return undeclared.length > 0 ? { undeclared } : {}
}

/** A misspelt type would guard nothing, and nobody would notice. */
function unknownGuardOf({ request }: RunContext, { terraform, state }: Reached): Pick<Run, 'unknownGuard'> {
  const { guard, givenGuard = false } = request.approval ?? { guard: [] }
  if (!givenGuard || !terraform) return {}
  const addresses = terraform.progress.changes.map(({ address }) => address)
  const unknown = unknownEntries(guard, [...(state?.info?.addresses ?? []), ...addresses])
  return unknown.length > 0 ? { unknownGuard: unknown } : {}
}

const isGivenUp = (kind: RunFault['kind']): boolean => kind === 'cancelled' || kind === 'paused'

/** From the state we keep; a backend of the template's own is asked through Terraform. */
async function outputsOf({ layout, terraform, state }: Reached): Promise<Outputs> {
  if (layout && terraform && remoteBackend(layout.root) !== undefined) return terraform.outputs(layout)
  return state?.info?.outputs ?? {}
}

/** The connection Secret; one that cannot be written is a fault of its own, everything else is done. */
async function handOut(
  { world, request }: RunContext,
  { workspace }: Layout,
  outputs: Outputs,
): Promise<RunFault | undefined> {
  if (!workspace.connectionSecret) return undefined
  try {
    await writeConnectionSecret(world.objects, request.owner, workspace.connectionSecret, outputs)
    return undefined
  } catch (error) {
    if (isTransient(error)) throw error
    return toRunFault(error)
  }
}

/** What the credentials were, so that a failure because of them is not repeated with the same ones. */
async function credentialFacts(
  { world }: RunContext,
  { refs = [], credentials }: Reached,
): Promise<Pick<Run, 'credentials' | 'credentialRefs'>> {
  if (refs.length === 0) return {}
  return {
    credentials: credentials?.fingerprint ?? (await credentialsFingerprint(world.objects, refs)),
    credentialRefs: refs.map(({ namespace, name }) => `${namespace}/${name}`),
  }
}
