// What controllers may ask of an engine, whichever runs Terraform: start, observe, cancel, forget. A run is a record, not a
// process: `observe` is right after any restart, and the end of a run notifies the listeners.
import type { Key } from '#api'
import type { Owner } from './owner.ts'
import type { QueuePosition } from './queue/run-queue.ts'
import type { ApprovalPolicy, CheckedState, RunRecord, Verb } from './record/record.ts'
import type { Reconstruction } from './state/reconstruct.ts'
import type { ToolChoice } from './tool/choose-tool.ts'
import type { ObjectKey, Workspace } from './workspace.ts'

export interface StartRequest {
  readonly owner: Owner
  readonly verb: Verb
  /** Hash of the inputs; for a destroy that of what is destroyed. */
  readonly hash: string
  /** A destroy can do without: it works from what was frozen. */
  readonly workspace?: Workspace
  /** The apply's own credentials, for a destroy whose template is gone. */
  readonly credentials?: ObjectKey
  readonly timeoutSeconds: number
  /** Left out: whatever is planned is applied. A destroy was approved by the deletion. */
  readonly approval?: ApprovalPolicy
  /** Plan upon the state of this apply of the same namespace, and apply nothing. */
  readonly speculativeFor?: string
  /** With `speculativeFor`: what differs is the answer (`RunRecord.drift`). Discarded when this is not so any more at the end. */
  readonly check?: CheckedState
  /** Id of the drift check whose finding this run corrects: a plan with more than that is not applied. */
  readonly corrects?: string
  /** Value of the retry annotation; a new one starts the count of attempts again. */
  readonly retryToken?: string
  /** Resources in the status of the apply; counts where there is no record. */
  readonly expected?: number
  /** Id of the workspace, as the apply names it; counts where there is no record. */
  readonly named?: NamedWorkspace
  /** The last run that the decision was made upon; when there is a newer one, nothing is started. */
  readonly basedOn?: { readonly runId: string | undefined }
}

export interface NamedWorkspace {
  readonly workspaceId: string
  /** A run was started before: a missing record was lost. */
  readonly isBegun: boolean
}

/** Counts resources by the tag that the runs of a workspace give them. `unavailable`: nobody can be asked. */
export type TagCounter = (apply: ObjectKey, workspaceId: string) => Promise<number | 'unavailable'>

/** What the apply itself knows of its workspace. */
export interface ApplyFacts {
  /** Resources in its status. */
  readonly status?: number | undefined
  /** Id that its resources are tagged with. Left out: there are none, or it is not known. */
  readonly workspaceId?: string | undefined
}

/**
 * `idle`: no run is open. `running`: a runner works on it. `lost`: the record is open, its runner is proven dead.
 * `unreachable`: the record is open, its runner is silent and cannot be proven dead.
 */
export type Activity = 'idle' | 'running' | 'lost' | 'unreachable'

export interface WorkspaceView {
  /** Undefined when nothing was ever started. */
  readonly record: RunRecord | undefined
  readonly activity: Activity
  /** The run was asked to stop. */
  readonly cancelling: boolean
  /** Set while the run waits for a slot. */
  readonly queue?: QueuePosition
}

export interface ForgetOptions {
  /** Release the state but do not delete it: the infrastructure stays. */
  readonly keepState: boolean
  /** Secrets with credentials that others still need, `namespace/name`. */
  readonly stillUsed: ReadonlySet<string>
}

export interface Engine {
  /** For people: `terraform 1.11.4`, `simulated`. */
  readonly name: string
  /** Returns when the record is written; a lost run with the same inputs is resumed. Does nothing while one runs. */
  start(request: StartRequest): Promise<void>
  /** The program that a run would use, or why there is none. Left out: there is nothing to choose. */
  toolFor?(request: Pick<StartRequest, 'verb' | 'workspace'>, record: RunRecord | undefined): ToolChoice
  observe(key: ObjectKey): Promise<WorkspaceView>
  /** Asks the run to stop; its end is reported like any other. */
  cancel(key: ObjectKey, runId: string): Promise<void>
  /** Closes a lost run instead of resuming it, and releases its lock. */
  abandon(owner: Owner): Promise<void>
  /** What the workspace holds by all sources that can be read. */
  reconstruct(owner: Owner, facts?: ApplyFacts): Promise<Reconstruction>
  /** Takes away everything kept for a workspace: inputs, copies, lock, folder, record, and the state unless it is to stay. */
  forget(owner: Owner, options: ForgetOptions): Promise<void>
  onChange(listener: (key: Key) => void): () => void
  /** Starts nothing any more and waits until every runner of this machine has ended. */
  drain(options: DrainOptions): Promise<void>
  /** Runners of this machine that have not ended yet. */
  readonly running: number
  /** Stops watching. Runs go on by themselves and are adopted later. */
  stop(): Promise<void>
}

export interface DrainOptions {
  /** After this time Terraform is asked to stop and to save its state. */
  readonly askAfterMs: number
  /** Aborted: it is asked at once. */
  readonly hurry?: AbortSignal | undefined
  /** This long after it was asked, what is left is killed; never when left out. Only for runs whose state is worth nothing. */
  readonly killAfterMs?: number
}
