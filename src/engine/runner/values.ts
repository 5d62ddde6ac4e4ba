// The values of a run, in the order in which its steps make them. Each step gets the value before and returns it with what
// the step adds; a run that fails is closed with the last value that it reached.
import type { Lock } from '../lock/lock.ts'
import type { PlanCounts } from '../messages.ts'
import type { InFlight } from '../record/in-flight.ts'
import type { DriftReport, PlanRef, ProposedPlan, Suspect } from '../record/record.ts'
import type { ObjectKey } from '../workspace.ts'
import type { BundleStore } from './inputs/bundle-store.ts'
import type { Credentials } from './inputs/credentials.ts'
import type { Inputs } from './inputs/inputs.ts'
import type { Layout } from './inputs/layout.ts'
import type { ListedChanges } from './plan/changes.ts'
import type { PlanStore } from './plan/plan-store.ts'
import type { TerraformRun } from './process/terraform-run.ts'
import type { WorkspaceState } from './state/workspace-state.ts'

/** The record names this process as the runner. */
export interface Claimed {
  /** Resources that an earlier runner left in doubt; at first those that the record shows to have begun. */
  readonly suspects: readonly Suspect[]
}

export interface Locked extends Claimed {
  readonly lock: Lock
  stopRenewing(): void
}

/** From here on every change of the state is saved, also those of a Terraform that an earlier runner started. */
export interface Opened extends Locked {
  readonly state: WorkspaceState
  /** Terraform of an earlier runner may still be at work in the folder. */
  readonly mayHaveOrphan: boolean
}

/** The state that holds is decided and in place; the suspects are complete. */
export interface Settled extends Opened {
  readonly isSettled: true
}

export interface Resolved extends Settled {
  readonly inputs: Inputs
  /** Secrets that the credentials come from. */
  readonly refs: readonly ObjectKey[]
}

export interface Authorized extends Resolved {
  readonly credentials: Credentials
  readonly terraform: TerraformRun
}

export interface LaidOut extends Authorized {
  readonly layout: Layout
  readonly plans: PlanStore
}

/** Terraform is initialized. */
export interface Prepared extends LaidOut {
  readonly bundles: BundleStore
}

export interface Planned extends Prepared {
  /** Undefined when nothing would change. */
  readonly counts: PlanCounts | undefined
  /** The plan of an interrupted run, when that one is applied. */
  readonly recalled: PlanRef | undefined
  /** The backend in which Terraform keeps the state by itself. */
  readonly backend: string | undefined
}

export interface Reviewed extends Planned {
  /** Left out for a plan of an interrupted run, whose record has them. */
  readonly changes?: ListedChanges
  /** The plan must be approved first: the run ends with it. */
  readonly proposed?: ProposedPlan
  /** Its summary, packed. */
  readonly planText?: Buffer
  /** The run is a drift check, and ends with its finding. */
  readonly drift?: DriftReport
}

/** The inputs are stored, and the record has the plan and the phase Apply. */
export interface Frozen extends Reviewed {
  /** What the record names as in flight is of this run. */
  readonly origin: Pick<InFlight, 'run' | 'mark' | 'boot'>
  /** Serials of the outdated copies of the state that are deleted. */
  readonly dropped: Promise<ReadonlySet<number>>
}

/** What a run has reached, however far that is. */
export type Reached = Claimed & Partial<Frozen>
