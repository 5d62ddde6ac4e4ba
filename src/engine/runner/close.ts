// Ends a run for good: what it made is handed out, and the record says how it ended.
import { toTimestamp } from '#lib'
import type { RunFault } from '../faults.ts'
import { isPassing } from '../patient.ts'
import { addSuspects, closeRun, type Run, type RunRecord, type Suspect } from '../record/record.ts'
import { credentialsFingerprint } from './credentials.ts'
import { toRunFault } from './failure.ts'
import { spareOf } from './freeze.ts'
import { type Outputs, publicOutputs, writeConnectionSecret } from './outputs.ts'
import { type Layout, remoteBackend } from './prepare.ts'
import type { Session } from './session.ts'
import type { WorkspaceState } from './workspace-state.ts'

export async function closeRecord(
  session: Session,
  state: WorkspaceState | undefined,
  suspects: readonly Suspect[],
  failure: RunFault | undefined,
): Promise<void> {
  const { request, keeper, trace, runLog, world } = session
  const { layout, terraform } = trace
  const finishedAt = toTimestamp(world.clock.now())
  const isApplied = failure === undefined && request.verb === 'apply' && layout !== undefined
  const outputs = isApplied ? await outputsOf(session, state) : {}
  const found = failure ?? (isApplied ? await handOut(session, layout, outputs) : undefined)
  const fault = found && { ...found, message: session.redact(found.message) }
  const phase = fault === undefined ? 'Succeeded' : isGivenUp(fault.kind) ? 'Cancelled' : 'Failed'
  const credentials = await credentialFacts(session)
  session.say(fault === undefined ? 'Done' : `Ended: ${phase}`)
  const log = runLog.finish()
  const dropped = await trace.dropped
  const withoutCopies = await state?.tidyCopies()
  await keeper.update((record): RunRecord => {
    const { plan, spare, ...closed } = closeRun(
      addSuspects(record, suspects),
      phase,
      finishedAt,
      fault,
      terraform?.hasApplied !== true,
    )
    const left = trace.plans ? trace.plans.left : plan
    return {
      ...(withoutCopies ? withoutCopies(closed) : closed),
      ...(left ? { plan: left } : {}),
      backups: closed.backups.filter(({ serial }) => !dropped?.has(serial)),
      ...spareOf(trace.bundles ? trace.bundles.left(spare) : (spare ?? [])),
      ...(state?.saved ? { state: state.saved } : {}),
      ...(isApplied
        ? { applied: { hash: layout.workspace.hash, at: finishedAt, runId: request.runId, ...publicOutputs(outputs) } }
        : {}),
      run: {
        ...closed.run!,
        ...(terraform ? { plan: terraform.progress.counts } : {}),
        ...undeclaredOf(terraform),
        ...credentials,
      },
    }
  }, log)
}

/** Said by Terraform about each of the first three; only where there is one the record carries it. */
function undeclaredOf(terraform: Session['trace']['terraform']): Pick<Run, 'undeclared'> {
  const undeclared = [...(terraform?.progress.undeclared ?? [])].sort()
  return undeclared.length > 0 ? { undeclared } : {}
}

const isGivenUp = (kind: RunFault['kind']): boolean => kind === 'cancelled' || kind === 'paused'

/** From the state we keep; a backend of the template's own is asked through Terraform. */
async function outputsOf({ trace }: Session, state: WorkspaceState | undefined): Promise<Outputs> {
  const { layout, terraform } = trace
  if (layout && terraform && remoteBackend(layout.root) !== undefined) return terraform.outputs(layout)
  return state?.info?.outputs ?? {}
}

/** The connection Secret; one that cannot be written is a fault of its own, everything else is done. */
async function handOut(
  { world, request }: Session,
  { workspace }: Layout,
  outputs: Outputs,
): Promise<RunFault | undefined> {
  if (!workspace.connectionSecret) return undefined
  try {
    await writeConnectionSecret(world.objects, request.owner, workspace.connectionSecret, outputs)
    return undefined
  } catch (error) {
    if (isPassing(error)) throw error
    return toRunFault(error)
  }
}

/** What the credentials were, so that a failure for want of them is not repeated with the same ones. */
async function credentialFacts({ trace, world }: Session): Promise<Pick<Run, 'credentials' | 'credentialRefs'>> {
  const { refs, credentials } = trace
  if (refs.length === 0) return {}
  return {
    credentials: credentials?.fingerprint ?? (await credentialsFingerprint(world.objects, refs)),
    credentialRefs: refs.map(({ namespace, name }) => `${namespace}/${name}`),
  }
}
