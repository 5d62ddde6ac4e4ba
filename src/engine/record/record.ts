// The run record: what is being run, by whom, since when, on which inputs. It is written before anything starts, it
// survives every process, and it moves with the object. No secret is ever in it.
import { type Json, parseJson } from '#lib'
import type { RunFault } from '../faults/faults.ts'
import type { ProcessIdentity } from '../lock/processes.ts'
import type { PlanCounts } from '../messages.ts'
import type { ListedChanges } from '../runner/plan/changes.ts'
import type { DriftFinding } from '../runner/plan/drift.ts'
import type { BackupRef, CopyRef } from '../state/state-copies.ts'
import { type InFlight, MOST_NAMED, suspectsInFlight } from './in-flight.ts'

export type Verb = 'apply' | 'destroy'

type OpenPhase = 'Queued' | 'Starting' | 'Init' | 'Plan' | 'Apply' | 'Save'
/** `Planned`: it made a plan that waits for approval, and changed nothing. */
export type ClosedPhase = 'Succeeded' | 'Failed' | 'Cancelled' | 'Lost' | 'Planned'
type RunPhase = OpenPhase | ClosedPhase

export interface Run {
  readonly id: string
  readonly verb: Verb
  /** Hash of the inputs. A destroy has that of the inputs it destroys. */
  readonly hash: string
  readonly attempt: number
  readonly phase: RunPhase
  readonly startedAt: string
  /** When the first attempt of this series (same verb, inputs and request) began, unless this is the first. */
  readonly seriesStartedAt?: string
  readonly finishedAt?: string
  /** The manager that wrote the record, until a runner has claimed it. */
  readonly holder: ProcessIdentity
  readonly runner?: ProcessIdentity
  /** The Kubernetes Job of the run; its pod is the runner. Written before the Job is made. */
  readonly job?: JobRef
  /** Its Job was deleted to stop it. */
  readonly cancelling?: true
  /** Why its pod does not start; observed, never stored. */
  readonly waitsFor?: string
  /** How often the run was resumed after its runner died. */
  readonly resumed: number
  readonly folder: string
  readonly timeoutSeconds: number
  /** Secrets with credentials that count as one identity; left out for the identity of the runner itself. */
  readonly identity?: string
  readonly plan?: PlanCounts
  /** What the plan does to which resources. */
  readonly changes?: ListedChanges
  /** Entries of the guard that name no resource of the workspace. */
  readonly unknownGuard?: readonly string[]
  /** It is a drift check: it plans and applies nothing. */
  readonly isCheck?: true
  /** Id of the drift check whose finding it corrects. */
  readonly corrects?: string
  /** Who approved the plan that it applied. */
  readonly approval?: Approval
  readonly progress?: string
  readonly address?: string
  readonly fault?: RunFault
  /** It was cancelled before Terraform was asked to change anything. */
  readonly untouched?: true
  /** Variables that were given a value and that a module from elsewhere does not declare, as Terraform warned. */
  readonly undeclared?: readonly string[]
  /** Value of the retry annotation that asked for this run. */
  readonly retryToken?: string
  /** Secrets that the credentials were read from, `namespace/name`. */
  readonly credentialRefs?: readonly string[]
  /** Changes when one of them does; then another attempt may succeed. */
  readonly credentials?: string
}

export interface JobRef {
  readonly namespace: string
  readonly name: string
}

/** Slots that something is stored in, by part; absent where names are made from the content. */
export interface Slotted {
  readonly slots?: readonly number[]
}

export interface Suspect {
  readonly address: string
  readonly action: string
  readonly run: string
  /** It is planned, and nobody knows whether it had begun. */
  readonly unconfirmed?: true
}

export interface SavedState {
  readonly serial: number
  readonly lineage: string
  readonly savedAt: string
  readonly resources: number
}

export interface BundleRef extends Slotted {
  readonly id: string
  readonly parts: number
  readonly bytes: number
  /** Hash of the inputs it was made from. */
  readonly hash: string
  /** `terraform 1.11.4` */
  readonly tool: string
}

/** A plan, and what it was made from: only where all of that is still so may it be applied. */
export interface PlanRef extends Slotted {
  readonly id: string
  /** None: it is too large, and lies in the work folder alone. */
  readonly parts: number
  readonly bytes: number
  readonly sha256: string
  readonly run: string
  readonly verb: Verb
  /** Hash of the inputs. */
  readonly hash: string
  /** `terraform 1.11.4` */
  readonly tool: string
  /** Of the state; both are missing where there was none. */
  readonly lineage?: string
  readonly serial?: number
  /** Fingerprint of the credentials. */
  readonly credentials: string
  /** Where it was made. */
  readonly folder: string
  readonly counts: PlanCounts
  readonly madeAt: string
  readonly expiresAt: string
  /** It may only be applied when the plan with this hash (`ProposedPlan`) was approved. */
  readonly needs?: string
}

/** Whether a plan is applied by itself, and what it must not do without approval. */
export interface ApprovalPolicy {
  readonly mode: 'Auto' | 'Manual'
  /** Types and addresses of resources that are not replaced or destroyed without approval. */
  readonly guard: readonly string[]
  /** The guard was written by a user, so entries without effect are reported. */
  readonly givenGuard?: boolean
  /** Manual because the state was taken over and this is the first plan. */
  readonly isFirst?: boolean
  /** How long a plan may be approved. */
  readonly expirySeconds: number
  readonly approved?: Approval
}

interface Approval {
  /** Hash of the plan. */
  readonly hash: string
  readonly by: string
  readonly at: string
  /** The API server made sure that it was this user, and that they may approve. */
  readonly verified: boolean
}

/** A plan that waits for approval. The plan itself may be stored (`PlanRef`); where it is not, it is made again and compared. */
export interface ProposedPlan {
  /** What people approve. */
  readonly hash: string
  readonly salt: string
  /** The run that made it. */
  readonly run: string
  /** Hash of the inputs. */
  readonly inputs: string
  /** Hash of the policy that it waits by. */
  readonly policy: string
  readonly because: 'Manual' | 'Guard' | 'Imported'
  readonly changes: ListedChanges
  /** Guarded resources that it replaces or destroys. */
  readonly guarded?: readonly string[]
  readonly madeAt: string
  readonly expiresAt: string
}

/** What a drift check is made from: it holds as long as all of it is still so. */
export interface CheckedState {
  /** The run that applied last. */
  readonly applied: string
  /** Hash of the inputs. */
  readonly inputs: string
  /** They are those that were last applied. */
  readonly isAsApplied: boolean
  /** Of the saved state; left out where Terraform keeps it itself. */
  readonly lineage?: string
  readonly serial?: number
}

/** What a drift check has found. */
export interface DriftReport extends DriftFinding {
  /** The check. */
  readonly run: string
  readonly of: CheckedState
  readonly at: string
  readonly counts: { readonly drifted: number; readonly pending: number; readonly upstream: number }
}

interface Applied {
  readonly hash: string
  readonly at: string
  readonly runId: string
  /** Outputs that are not sensitive, bounded. */
  readonly outputs: Readonly<Record<string, Json>>
  /** Names of outputs that were too large for the status. */
  readonly omitted: readonly string[]
}

interface PastRun {
  readonly id: string
  readonly verb: Verb
  readonly phase: ClosedPhase
  readonly attempt: number
  readonly startedAt: string
  readonly finishedAt: string
  readonly message?: string
  readonly untouched?: true
}

export interface ImportMark {
  /** Where the state was found, for people. */
  readonly from: string
  /** The object that asks for the apply, `CAPTCluster demo`: no run starts before it has done so. */
  readonly owner?: string
}

export interface RunRecord {
  readonly version: 1
  /** Stays the same for the life of the workspace; resources are tagged with it. */
  readonly workspaceId: string
  readonly run?: Run
  readonly applied?: Applied
  readonly state?: SavedState
  readonly bundle?: BundleRef
  /** Bundles of which parts may lie somewhere, and which are not needed: announced and never used, or replaced. */
  readonly spare?: readonly BundleRef[]
  /** Written before the first of its parts is: nothing of a plan lies anywhere that the record does not know of. */
  readonly plan?: PlanRef
  readonly proposed?: ProposedPlan
  /** Only in the record of drift checks: the last finding. */
  readonly drift?: DriftReport
  /** Whole copies of earlier states, newest first. */
  readonly backups: readonly BackupRef[]
  /** Resources that the status of the apply spoke of when this record took the place of one that was lost. */
  readonly expected?: number
  /** The run that had not released the lock by then: what it has begun is known to no record. */
  readonly lostRun?: string
  /** Copies of a state of several parts, announced before they are written and gone when the state is saved. */
  readonly pending?: readonly CopyRef[]
  /** Saved by runners that had lost their lock; a person decides what becomes of them. */
  readonly side?: readonly CopyRef[]
  /** A person forgot what an earlier record had; its folder must not be used again. */
  readonly forgotten?: { readonly workspaceId: string; readonly at: string; readonly resources: number }
  /** A person decided that this state holds, whatever lies in a work folder. */
  readonly restored?: { readonly serial: number; readonly lineage: string }
  /** The state was taken over from another program (`capt import`); its resources have no tag of this workspace. */
  readonly imported?: ImportMark & { readonly at: string }
  /** Terraform keeps the state itself, in the backend that the template names. */
  readonly backend?: string
  readonly suspects: readonly Suspect[]
  /** Of the plan that is being applied; of a lost run until the next one has compared it with the state. */
  readonly inFlight?: InFlight
  /** Secrets with credentials that have our finalizer, `namespace/name`. */
  readonly kept: readonly string[]
  readonly history: readonly PastRun[]
}

const HISTORY = 10
const OPEN: ReadonlySet<RunPhase> = new Set(['Queued', 'Starting', 'Init', 'Plan', 'Apply', 'Save'])

export function isOpen(run: Run | undefined): run is Run & { readonly phase: OpenPhase } {
  return run !== undefined && OPEN.has(run.phase)
}

export function newRecord(workspaceId: string): RunRecord {
  return { version: 1, workspaceId, suspects: [], kept: [], backups: [], history: [] }
}

/** Nothing was applied since the state was taken over: whether template and state agree is not known. */
export function isUnproven({ imported, applied }: Pick<RunRecord, 'imported' | 'applied'>): boolean {
  return imported !== undefined && applied === undefined
}

/** The runner before this one was lost: it may be alive where nobody can see it, and its Terraform with it. */
export function followsLostRun({ run, history }: RunRecord): boolean {
  return (run?.resumed ?? 0) > 0 || history.find(({ id }) => id !== run?.id)?.phase === 'Lost'
}

/** Undefined when the text is not one of our records. */
export function parseRecord(text: string): RunRecord | undefined {
  try {
    const parsed = parseJson(text) as Partial<RunRecord> | null
    if (parsed?.version !== 1 || typeof parsed.workspaceId !== 'string') return undefined
    return { ...newRecord(parsed.workspaceId), ...parsed } as RunRecord
  } catch {
    return undefined
  }
}

/** Whether the runner of this run has closed it. A lost run was closed by a manager. */
export function hasClosed({ history }: RunRecord, runId: string): boolean {
  return history.some(({ id, phase }) => id === runId && phase !== 'Lost')
}

/** Ends the run and files it in the history, newest first. What a lost one had begun is in doubt. */
export function closeRun(
  record: RunRecord,
  phase: ClosedPhase,
  finishedAt: string,
  fault?: RunFault,
  isUntouched = false,
): RunRecord {
  const { run } = record
  if (!run) return record
  const { progress: _progress, address: _address, ...rest } = run
  // An earlier runner of a resumed run may have changed something.
  const isAsBefore = isUntouched && fault?.kind === 'cancelled' && run.resumed === 0
  const untouched = isAsBefore ? ({ untouched: true } as const) : {}
  const closed: Run = { ...rest, phase, finishedAt, ...(fault ? { fault } : {}), ...untouched }
  const past: PastRun = {
    id: run.id,
    verb: run.verb,
    phase,
    attempt: run.attempt,
    startedAt: run.startedAt,
    finishedAt,
    ...(fault ? { message: fault.message } : {}),
    ...untouched,
  }
  return {
    ...(phase === 'Lost' ? addSuspects(record, suspectsInFlight(record.inFlight)) : record),
    run: closed,
    history: [past, ...record.history.filter(({ id }) => id !== run.id)].slice(0, HISTORY),
  }
}

/**
 * What was applied last still holds: it was these inputs, and every run since then was cancelled before it changed anything.
 */
export function isAsApplied(record: RunRecord | undefined, hash: string): boolean {
  const { run, applied, history = [] } = record ?? {}
  if (run?.verb !== 'apply' || run.hash !== hash) return false
  if (run.phase === 'Succeeded') return true
  const at = history.findIndex(({ id }) => id === applied?.runId)
  return applied?.hash === hash && at > 0 && history.slice(0, at).every(({ untouched }) => untouched)
}

/** Adds without repeating an address. */
export function addSuspects(record: RunRecord, found: readonly Suspect[]): RunRecord {
  const known = new Set(record.suspects.map(({ address }) => address))
  const fresh = found.filter(({ address }) => !known.has(address))
  return fresh.length === 0 ? record : { ...record, suspects: [...record.suspects, ...fresh].slice(-MOST_NAMED) }
}
