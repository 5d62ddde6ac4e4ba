// The namespace whose Terraform runs beside the manager. Runs share one user, one disk and the token of the manager's
// service account, so in a cluster they serve one namespace: that of the oldest apply. Others are refused.
import { keyText, WorkspaceTemplateApply } from '#api'
import type { Cache } from '#kube'
import { type ApplySummary, summarizeApply } from './summary.ts'

/** The namespace that runs here, if it is not that of this apply. */
export function otherTenant(cache: Cache, apply: WorkspaceTemplateApply): string | undefined {
  const own = summarizeApply(apply)
  let oldest = own
  for (const other of cache.summaries(WorkspaceTemplateApply, summarizeApply))
    if (ageOf(other) < ageOf(oldest)) oldest = other
  return oldest.namespace === own.namespace ? undefined : oldest.namespace
}

const ageOf = (apply: ApplySummary): string => `${apply.createdAt} ${keyText(apply)}`
