// The actions for a WorkspaceTemplateApply, as data.
import type { ApprovalPolicy, CheckedState, Workspace } from '#engine'
import { type Decision, stalled } from '#runtime'
import type { Observed } from './observe.ts'

export type Action =
  | {
      readonly do:
        | 'add-finalizer'
        | 'remove-finalizer'
        | 'unblock-move'
        | 'abandon-run'
        | 'delete-self'
        | 'abandon-check'
        | 'forget-checks'
    }
  | {
      readonly do: 'start-run'
      readonly verb: 'apply' | 'destroy'
      readonly hash: string
      readonly workspace?: Workspace
      readonly approval?: ApprovalPolicy
      /** The drift check whose finding it corrects. */
      readonly corrects?: string
    }
  | { readonly do: 'check-drift'; readonly workspace: Workspace; readonly of: CheckedState }
  | { readonly do: 'cancel-check'; readonly runId: string }
  /** `dropsRetry`: a retry that was requested while the run was on is cancelled with it. */
  | { readonly do: 'cancel-run'; readonly runId: string; readonly dropsRetry: boolean }
  | { readonly do: 'forget'; readonly keepState: boolean }

const UNREACHABLE_RETRY_SECONDS = 60

/** No second Terraform is started while the first one cannot be proven dead. */
export function unreachable({ apply, view }: Observed): Decision<Action> {
  const run = view.record?.run
  const who = run?.runner ?? run?.holder
  const place = who?.pod ? `in pod ${who.pod.namespace}/${who.pod.name}` : `on ${who?.host}`
  const wayOut = who?.pod
    ? `end that pod (kubectl -n ${who.pod.namespace} delete pod ${who.pod.name}); only when its node is gone for good`
    : `start capt on ${who?.host} again; only when process ${who?.pid} there has ended`
  return stalled(
    'RunnerUnreachable',
    `The ${run?.verb} ${place} is silent and cannot be proven dead from here`,
    `${wayOut}: capt retry ${apply.metadata.name} --holder-is-gone`,
    UNREACHABLE_RETRY_SECONDS,
  )
}
