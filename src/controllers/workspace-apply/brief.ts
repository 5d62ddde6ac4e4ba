// What is read of applies when all of them are looked at: whose turn it is, how many use a template, which credentials
// are in use, how many run. The whole apply is unpacked only for its own turn.
import { type AnyObject, WorkspaceTemplateApply } from '#api'

export function briefApply(object: AnyObject): AnyObject {
  const { metadata, spec, status } = object as WorkspaceTemplateApply
  const { name, namespace, uid, creationTimestamp, deletionTimestamp } = metadata
  const { templateRef, suspend, credentialsRef } = spec
  const { appliedHash, templateGeneration, phase, run, conditions = [] } = status ?? {}
  const brief = {
    apiVersion: WorkspaceTemplateApply.apiVersion,
    kind: WorkspaceTemplateApply.kind,
    metadata: { name, namespace, uid, creationTimestamp, deletionTimestamp },
    spec: { templateRef, suspend, credentialsRef },
    status: {
      appliedHash,
      templateGeneration,
      phase,
      run: run && { phase: run.phase, startedAt: run.startedAt },
      conditions: conditions.filter(({ type }) => type === 'Ready').map(({ type, reason }) => ({ type, reason })),
    },
  }
  return brief as AnyObject
}
