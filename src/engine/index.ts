// Terraform and OpenTofu: rendering, runs that cannot be lost, and what is kept beside them.

export { decideOnPlan } from './approve-plan.ts'
export type { FaultKind, RunFault } from './faults/faults.ts'
export { backoffSeconds, faultPolicy } from './faults/policy.ts'
export { JobEngine } from './job/job-engine.ts'
export type { JobEngineOptions } from './job/launch.ts'
export { APPLY_ANNOTATION, runResources } from './job/render-job.ts'
export { openMounted } from './job/run-secret.ts'
export { createLocalEngine, type LocalEngineOptions } from './local/local-engine.ts'
export type { ObservedLock } from './lock/lock.ts'
export { announcePod, type PodIdentity } from './lock/processes.ts'
export * from './names.ts'
export type { Owner } from './owner.ts'
export * from './port.ts'
export { defaultLimits, type Limits } from './queue/limits.ts'
export type { QueueReason } from './queue/schedule.ts'
export type { InFlight } from './record/in-flight.ts'
export type {
  ApprovalPolicy,
  CheckedState,
  DriftReport,
  ProposedPlan,
  Run,
  RunRecord,
  Suspect,
  Verb,
} from './record/record.ts'
export { isAsApplied, isOpen, isUnproven } from './record/record.ts'
export { readLog, readPlanText, readRecord } from './record/record-store.ts'
export { settleAfterRestore } from './recovery/after-restore.ts'
export { examineWorkspace, isUnreadable, type WorkspaceExam } from './recovery/examine.ts'
export { checkImport, importState } from './recovery/import-state.ts'
export type { TagCounter } from './recovery/inspect.ts'
export { type Abandoned, findAbandoned, listRecorded, orphanResources, type Recorded } from './recovery/release.ts'
export { clearSuspects, declareGone, discardCopy, findOwner, restoreState } from './recovery/restore.ts'
export { renderWorkspace, workspaceNameOf, workspaceSources } from './render/render.ts'
export { undeclaredValues } from './render/undeclared.ts'
export { credentialRefusals } from './runner/inputs/credential-keys.ts'
export { credentialsFingerprint, readSource } from './runner/inputs/credentials.ts'
export { folderOf } from './runner/inputs/folder.ts'
export { isCheckDiscarded } from './runner/plan/check-drift.ts'
export { DEFAULT_GUARD } from './runner/plan/guard.ts'
export { type PlanText, policyHash } from './runner/plan/proposal.ts'
export { onWriteError } from './runner/process/disk.ts'
export { Tail } from './runner/process/tail.ts'
export { readHandover } from './runner/record/handover.ts'
export { runOnce } from './runner/run.ts'
export { createSimulatedEngine } from './simulated/simulated-engine.ts'
export type { Reconstruction } from './state/reconstruct.ts'
export { findCopy } from './state/sources.ts'
export { copyId, loadCopy } from './state/state-copies.ts'
export { readState, type StateInfo } from './state/state-file.ts'
export { loadState } from './state/state-store.ts'
export type { ToolChoice } from './tool/choose-tool.ts'
export { findTerraform } from './tool/find-terraform.ts'
export type { ObjectKey, Rendering, Workspace } from './workspace.ts'
