// What is read of applies when many are read at once: the order of a rollout, how many use a template, which credentials
// are in use, how many run. The cache computes it, so that an apply is unpacked only for its own reconcile.
import { type AnyObject, conditionOf, type WorkspaceTemplateApply } from '#api'

type Spec = WorkspaceTemplateApply['spec']
type Status = NonNullable<WorkspaceTemplateApply['status']>

export interface ApplySummary {
  readonly namespace: string
  readonly name: string
  readonly createdAt: string
  readonly isDeleting: boolean
  readonly deletedAt: string | undefined
  readonly isSuspended: boolean
  readonly templateRef: Spec['templateRef']
  readonly credentialsRef: Spec['credentialsRef']
  readonly appliedHash: Status['appliedHash']
  readonly templateGeneration: Status['templateGeneration']
  readonly phase: Status['phase']
  readonly readyReason: string | undefined
  readonly hasRun: boolean
  readonly runPhase: NonNullable<Status['run']>['phase']
  readonly runStartedAt: NonNullable<Status['run']>['startedAt']
  readonly queueReason: string | undefined
  readonly driftResult: NonNullable<Status['drift']>['result']
  readonly drifted: number
}

export function summarizeApply(object: AnyObject): ApplySummary {
  const { metadata, spec, status = {} } = object as WorkspaceTemplateApply
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    createdAt: metadata.creationTimestamp ?? '',
    isDeleting: metadata.deletionTimestamp !== undefined,
    deletedAt: metadata.deletionTimestamp,
    isSuspended: spec.suspend,
    templateRef: spec.templateRef,
    credentialsRef: spec.credentialsRef,
    appliedHash: status.appliedHash,
    templateGeneration: status.templateGeneration,
    phase: status.phase,
    readyReason: conditionOf(object, 'Ready')?.reason,
    hasRun: status.run !== undefined,
    runPhase: status.run?.phase,
    runStartedAt: status.run?.startedAt,
    queueReason: status.run?.queue?.reason,
    driftResult: status.drift?.result,
    drifted: status.drift?.drifted ?? 0,
  }
}
