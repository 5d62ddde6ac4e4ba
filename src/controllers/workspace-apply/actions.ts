// What can be done about an apply, as data.
import type { Workspace } from '#engine'
import { type Decision, stalled } from '#runtime'
import type { Observed } from './observe.ts'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' | 'abandon-run' }
  | {
      readonly do: 'start-run'
      readonly verb: 'apply' | 'destroy'
      readonly hash: string
      readonly workspace?: Workspace
    }
  /** `dropsRetry`: a retry that was requested while the run was on is cancelled with it. */
  | { readonly do: 'cancel-run'; readonly runId: string; readonly dropsRetry: boolean }
  | { readonly do: 'forget'; readonly keepState: boolean }

const UNREACHABLE_SECONDS = 60

/** Nobody may start a second Terraform while the first one cannot be proven dead. */
export function unreachable({ view }: Observed): Decision<Action> {
  const run = view.record?.run
  const who = run?.runner ?? run?.holder
  return stalled(
    'RunnerUnreachable',
    `The ${run?.verb} on ${who?.host} is silent and cannot be proven dead from here`,
    `start capt on ${who?.host} again, or make sure that process ${who?.pid} there has ended and run capt retry --holder-is-gone`,
    UNREACHABLE_SECONDS,
  )
}
