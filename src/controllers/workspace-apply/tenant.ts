// Whose Terraform runs beside the manager. Its runs share one user, one disk and the token of the manager's service
// account, so in a cluster they serve one namespace: that of the oldest apply. A second one is refused unless allowed.
import { WorkspaceTemplateApply } from '#api'
import type { Cache } from '#kube'
import { refText } from './dependencies.ts'

/** The namespace that runs here, if it is not that of this apply. */
export function otherTenant(cache: Cache, apply: WorkspaceTemplateApply): string | undefined {
  const own = apply.metadata.namespace
  let oldest: WorkspaceTemplateApply = apply
  for (const other of cache.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { brief: true }))
    if (ageOf(other) < ageOf(oldest)) oldest = other
  return oldest.metadata.namespace === own ? undefined : oldest.metadata.namespace
}

const ageOf = ({ metadata }: WorkspaceTemplateApply): string =>
  `${metadata.creationTimestamp ?? ''} ${refText(metadata, metadata.namespace)}`
