// Ends a run for good: what it made is handed out, and the record says how it ended.
import type { Objects } from '#kube'
import { type Clock, toTimestamp } from '#lib'
import type { RunFault } from '../faults.ts'
import type { PlanCounts } from '../messages.ts'
import { isPassing } from '../patient.ts'
import { addSuspects, closeRun, type Run, type RunRecord, type Suspect } from '../record/record.ts'
import { toRunFault } from './failure.ts'
import type { RunRequest } from './folder.ts'
import { type Outputs, publicOutputs, writeConnectionSecret } from './outputs.ts'
import type { Layout } from './prepare.ts'
import type { RecordKeeper } from './record-keeper.ts'
import type { WorkspaceState } from './workspace-state.ts'

export interface Closing {
  readonly objects: Objects
  readonly clock: Clock
  readonly request: RunRequest
  readonly keeper: RecordKeeper
  readonly layout: Layout | undefined
  readonly state: WorkspaceState | undefined
  readonly credentials: Pick<Run, 'credentials' | 'credentialRefs'>
  readonly plan: PlanCounts | undefined
  readonly suspects: readonly Suspect[]
  readonly outputs: Outputs
  readonly fault: RunFault | undefined
  /** Says a last word and returns the whole log. */
  finishLog(text: string): string
}

export async function closeRecord(closing: Closing): Promise<void> {
  const { request, keeper, layout, state, credentials, plan, suspects, outputs } = closing
  const finishedAt = toTimestamp(closing.clock.now())
  const applied = closing.fault === undefined && request.verb === 'apply' && layout !== undefined
  const fault = closing.fault ?? (applied ? await handOut(closing, layout) : undefined)
  const phase = fault === undefined ? 'Succeeded' : fault.kind === 'cancelled' ? 'Cancelled' : 'Failed'
  const log = closing.finishLog(fault === undefined ? 'Done' : `Ended: ${phase}`)
  await keeper.update((record): RunRecord => {
    const closed = closeRun(addSuspects(record, suspects), phase, finishedAt, fault)
    return {
      ...closed,
      ...(state?.saved ? { state: state.saved } : {}),
      ...(applied
        ? { applied: { hash: layout.workspace.hash, at: finishedAt, runId: request.runId, ...publicOutputs(outputs) } }
        : {}),
      run: {
        ...closed.run!,
        ...(plan ? { plan } : {}),
        ...credentials,
      },
    }
  }, log)
}

/** The connection Secret; a Secret that cannot be written is a fault of its own, everything else is done. */
async function handOut({ objects, request, outputs }: Closing, { workspace }: Layout): Promise<RunFault | undefined> {
  if (!workspace.connectionSecret) return undefined
  try {
    await writeConnectionSecret(objects, request.owner, workspace.connectionSecret, outputs)
    return undefined
  } catch (error) {
    if (isPassing(error)) throw error
    return toRunFault(error)
  }
}
