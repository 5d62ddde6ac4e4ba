// Whether the API server makes sure who approves. Asked by trying: a write in somebody else's name, as a dry run, must be
// refused (config/approval-policy) or come back with our own name (the embedded home). Nothing is stored.
import { APPROVED_BY_ANNOTATION, APPROVED_PLAN_ANNOTATION, keyOf, WorkspaceTemplateApply } from '#api'
import { isKubeError, type Objects } from '#kube'

const NOBODY = 'capt:nobody'

export async function isApproverVerified(objects: Objects, apply: WorkspaceTemplateApply): Promise<boolean> {
  const annotations = { [APPROVED_PLAN_ANNOTATION]: 'probe', [APPROVED_BY_ANNOTATION]: NOBODY }
  const patch = { type: 'merge', body: { metadata: { annotations } } } as const
  try {
    const tried = await objects.patch<WorkspaceTemplateApply>(WorkspaceTemplateApply, keyOf(apply), patch, {
      dryRun: true,
    })
    return tried.metadata.annotations?.[APPROVED_BY_ANNOTATION] !== NOBODY
  } catch (error) {
    if (isKubeError(error, 'Invalid', 'Forbidden')) return true
    throw error
  }
}
