// The hint of a WorkspaceTemplateApply whose deletion stopped, on the apply itself and on its owner.
import type { WorkspaceTemplateApply } from '#api'

/** Lists everything that ends a stopped deletion; `cause` says how to remove what stopped it. */
export function waysOut({ metadata }: WorkspaceTemplateApply, cause: string): string {
  const { name, namespace = 'default' } = metadata
  return [
    `Ways out: remove the cause (${cause}), then capt retry ${name} -n ${namespace}`,
    'raise spec.retry.limit or spec.deletionTimeout for more attempts',
    `leave the infrastructure in place and keep its state: kubectl patch wtapply ${name} -n ${namespace} --type merge -p '{"spec":{"retainWorkspaceOnDelete":true}}'`,
    `let go of the resources and of their state: capt forget ${name} -n ${namespace} --orphan-resources`,
  ].join('; or ')
}
