// What controllers may ask of an engine, whichever runs Terraform: start, observe, cancel, forget. A run is a record, not a
// process: `observe` tells the truth after any restart, and the end of a run wakes its object.
import type { Key } from '#api'
import { backoffSeconds as backoffOf, FAULT_POLICIES, type FaultPolicy } from './fault-policy.ts'
import { type FaultKind, needsPerson as isForPeople } from './faults.ts'
import type { Owner } from './owner.ts'
import { isAsApplied as isAsAppliedBy, type RunRecord, type Verb } from './record/record.ts'
import { workspaceNameOf as nameOf, render, sourcesOf } from './render/render.ts'
import { undeclaredValues as undeclaredIn } from './render/undeclared.ts'
import { refusalsOf } from './runner/credential-keys.ts'
import {
  credentialsFingerprint as fingerprintOf,
  readingOnce as onceOf,
  readSource as sourceOf,
} from './runner/credentials.ts'
import type { Reconstruction } from './state/reconstruct.ts'
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
  /** Value of the retry annotation; a new one starts the count of attempts again. */
  readonly retryToken?: string
  /** Resources that the status of the apply speaks of; counts where there is no record. */
  readonly expected?: number
  /** The last run that the decision was made upon; when there is a newer one, nothing is started. */
  readonly basedOn?: { readonly runId: string | undefined }
}

/**
 * `idle`: no run is open. `running`: somebody works on it. `lost`: the record is open, its runner is proven dead.
 * `unreachable`: the record is open, its runner is silent and cannot be proven dead.
 */
export type Activity = 'idle' | 'running' | 'lost' | 'unreachable'

export interface WorkspaceView {
  /** Undefined when nothing was ever started. */
  readonly record: RunRecord | undefined
  readonly activity: Activity
  /** The run was asked to stop. */
  readonly cancelling: boolean
}

export interface ForgetOptions {
  /** Let go of the state but leave it there: the infrastructure stays. */
  readonly keepState: boolean
  /** Secrets with credentials that others still need, `namespace/name`. */
  readonly stillUsed: ReadonlySet<string>
}

export interface Engine {
  /** For people: `terraform 1.11.4`, `simulated`. */
  readonly name: string
  /** Returns when the record is written; a lost run with the same inputs is taken up again. Does nothing while one runs. */
  start(request: StartRequest): Promise<void>
  observe(key: ObjectKey): Promise<WorkspaceView>
  /** Asks the run to stop; its end is reported like any other. */
  cancel(key: ObjectKey, runId: string): Promise<void>
  /** Closes a lost run without taking it up, and releases its lock. */
  abandon(owner: Owner): Promise<void>
  /** What the workspace holds by all that can be read of it; `status`: resources that the apply's status speaks of. */
  reconstruct(owner: Owner, status?: number): Promise<Reconstruction>
  /** Takes away everything kept for a workspace: inputs, copies, lock, folder, record, and the state unless it is to stay. */
  forget(owner: Owner, options: ForgetOptions): Promise<void>
  onChange(listener: (key: Key) => void): () => void
  /** Starts nothing any more and waits until every runner of this machine has ended. */
  drain(options: DrainOptions): Promise<void>
  /** Runners of this machine that have not ended yet. */
  readonly running: number
  /** Stops watching. Runs go on by themselves and are found again. */
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

export const renderWorkspace = render
export const workspaceSources = sourcesOf
export const undeclaredValues = undeclaredIn
export const workspaceNameOf = nameOf
export const readSource = sourceOf
export const readingOnce = onceOf
export const credentialsFingerprint = fingerprintOf
export const credentialRefusals = refusalsOf
export const backoffSeconds = backoffOf
export const faultPolicy = (kind: FaultKind): FaultPolicy => FAULT_POLICIES[kind]
export const needsPerson = isForPeople
export const isAsApplied = isAsAppliedBy
