// Terraform and OpenTofu: rendering, runs that cannot be lost, and what is kept beside them.

export { examineWorkspace, isUnreadable, type StateSight, type WorkspaceExam } from './examine.ts'
export type { FaultKind, RunFault } from './faults.ts'
export { findTerraform, type Tool } from './find-terraform.ts'
export { type InspectOptions, inspectWorkspace } from './inspect.ts'
export { type Abandoned, findAbandoned, listRecorded, orphanResources, type Recorded } from './let-go.ts'
export { createLocalEngine, type LocalEngineOptions } from './local/local-engine.ts'
export type { LockSight } from './lock.ts'
export type { PlanCounts } from './messages.ts'
export * from './names.ts'
export type { Owner } from './owner.ts'
export * from './port.ts'
export { announcePod, type PodIdentity } from './processes.ts'
export type {
  Applied,
  BundleRef,
  InFlight,
  PastRun,
  Run,
  RunPhase,
  RunRecord,
  SavedState,
  Suspect,
  Verb,
} from './record/record.ts'
export { isOpen } from './record/record.ts'
export { readLog, readRecord } from './record/record-store.ts'
export { clearSuspects, declareGone, discardCopy, findOwner, restoreState } from './rescue.ts'
export { onWriteError } from './runner/disk.ts'
export { folderOf } from './runner/folder.ts'
export { readHandover } from './runner/handover.ts'
export { type RunEnd, type RunnerWorld, runOnce } from './runner/run.ts'
export { Tail } from './runner/tail.ts'
export { createSimulatedEngine, type SimulatedEngineOptions } from './simulated/simulated-engine.ts'
export { type Reconstruction, reconstructWorkspace } from './state/reconstruct.ts'
export { findCopy } from './state/sources.ts'
export { type BackupRef, copyId, loadBackup, loadCopy } from './state/state-copies.ts'
export { readState, type StateInfo } from './state/state-file.ts'
export { readIdentities, type StateIdentities } from './state/state-identities.ts'
export { loadState } from './state/state-store.ts'
export type { ObjectKey, Problem, Rendering, SourceRef, Workspace } from './workspace.ts'
