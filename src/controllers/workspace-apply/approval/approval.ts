// Approval of plans: which rules hold for an apply, what people have answered, and whether a run may start. An approval names
// the hash of one plan; it counts for that plan alone, and only as long as that plan has not expired.
import {
  type AnyObject,
  APPROVED_AT_ANNOTATION,
  APPROVED_BY_ANNOTATION,
  APPROVED_PLAN_ANNOTATION,
  conditionOf,
  DENIED_BY_ANNOTATION,
  DENIED_PLAN_ANNOTATION,
  type WorkspaceTemplate,
  type WorkspaceTemplateApply,
} from '#api'
import { type ApprovalPolicy, DEFAULT_GUARD, isUnproven, type ProposedPlan, policyHash, type RunRecord } from '#engine'
import type { Objects } from '#kube'
import { type ConditionDraft, type Decision, stalled, waiting } from '#runtime'
import type { Action } from '../actions.ts'
import type { Observed } from '../observe.ts'
import { speculationDone } from './speculation.ts'
import { isApproverVerified } from './verify.ts'

export interface ApprovalOptions {
  /** For applies whose own spec and whose template leave it open. */
  readonly mode: ApprovalPolicy['mode']
  readonly expirySeconds: number
  /** When everything here came from a backup, RFC 3339: the first plan of every workspace since then waits for approval. */
  readonly restoredAt?: string | undefined
}

export const DEFAULT_APPROVAL: ApprovalOptions = {
  mode: 'Auto',
  expirySeconds: 3600,
}

type Answer = { readonly plan: string; readonly by: string } & (
  | { readonly is: 'approved'; readonly at: string; readonly verified: boolean }
  | { readonly is: 'denied' }
)

export interface ObservedApproval {
  readonly policy: ApprovalPolicy
  readonly answer: Answer | undefined
  /** Seconds until the plan that waits expires; zero or less means that it has. */
  readonly leftSeconds: number
  /** No run has succeeded since the restore: a run is needed, and its plan waits unless it is empty. */
  readonly isUnconfirmed?: boolean
}

/** The apply decides, then its template, then the manager. The first plan after a restore or an import always waits. */
export async function observeApproval(
  objects: Objects,
  apply: WorkspaceTemplateApply,
  template: WorkspaceTemplate | undefined,
  record: RunRecord | undefined,
  options: ApprovalOptions,
  nowMs: number,
  cluster?: AnyObject,
): Promise<ObservedApproval> {
  const given = apply.spec.guard ?? template?.spec.guard
  const isUnconfirmed = needsConfirmation(options.restoredAt, [apply, cluster], record)
  // One that was made before the restore counts as expired.
  const proposed =
    record?.proposed && isAtOrBefore(record.proposed.madeAt, options.restoredAt) ? undefined : record?.proposed
  const isFirst = record !== undefined && isUnproven(record)
  return {
    isUnconfirmed,
    policy: {
      mode: isUnconfirmed || isFirst ? 'Manual' : (apply.spec.approval ?? template?.spec.approval ?? options.mode),
      ...(isFirst ? { isFirst } : {}),
      guard: given ?? DEFAULT_GUARD,
      givenGuard: given !== undefined,
      expirySeconds: options.expirySeconds,
    },
    answer: proposed && (await answerTo(objects, apply, proposed)),
    leftSeconds: proposed ? Math.ceil((Date.parse(proposed.expiresAt) - nowMs) / 1000) : 0,
  }
}

/**
 * What the backup knows of a workspace may be older than its infrastructure, until a plan was empty or approved. An apply that
 * was made later for a cluster of the backup counts too: it may have existed before. `subjects`: the apply and its cluster.
 */
export function needsConfirmation(
  restoredAt: string | undefined,
  subjects: readonly (Pick<AnyObject, 'metadata'> | undefined)[],
  record: RunRecord | undefined,
): boolean {
  if (record?.applied && !isAtOrBefore(record.applied.at, restoredAt)) return false
  return subjects.some((subject) => isAtOrBefore(subject?.metadata.creationTimestamp, restoredAt))
}

const isAtOrBefore = (at: string | undefined, limit: string | undefined): boolean =>
  at !== undefined && limit !== undefined && Date.parse(at) <= Date.parse(limit)

/** What was answered to this plan, or to another one. */
async function answerTo(
  objects: Objects,
  apply: WorkspaceTemplateApply,
  { hash }: ProposedPlan,
): Promise<Answer | undefined> {
  const { annotations = {} } = apply.metadata
  const denied = annotations[DENIED_PLAN_ANNOTATION]
  if (denied === hash) return { is: 'denied', plan: denied, by: annotations[DENIED_BY_ANNOTATION] ?? '' }
  const plan = annotations[APPROVED_PLAN_ANNOTATION]
  if (plan === undefined) return undefined
  const verified = plan === hash && (await isApproverVerified(objects, apply))
  const by = annotations[APPROVED_BY_ANNOTATION] ?? ''
  return { is: 'approved', plan, by, at: annotations[APPROVED_AT_ANNOTATION] ?? '', verified }
}

type Gate =
  | { readonly is: 'open'; readonly policy: ApprovalPolicy }
  | { readonly is: 'held'; readonly decision: Decision<Action> }

/** May a run with these inputs start, and which approval does it have? `isAsked`: somebody asked for another plan. */
export function approvalGate(observed: Observed, inputs: string, isAsked: boolean): Gate {
  const { apply, view, approval } = observed
  const { policy, answer, leftSeconds } = approval
  const { proposed, run } = view.record ?? {}
  const planned = isAsked ? undefined : speculationDone(observed, inputs)
  if (planned) return { is: 'held', decision: planned }
  const open: Gate = { is: 'open', policy }
  if (observed.speculation) return open
  if (!proposed || isAsked || proposed.inputs !== inputs || proposed.policy !== policyHash(policy)) return open
  const isAnswered = answer?.plan === proposed.hash
  if (isAnswered && answer.is === 'denied') {
    return {
      is: 'held',
      decision: stalled(
        'PlanDenied',
        `Plan ${proposed.hash} was denied by ${answer.by || 'somebody'}`,
        `change the spec, the template or the variables, or plan again: capt retry ${apply.metadata.name}`,
      ),
    }
  }
  if (leftSeconds <= 0) return open
  if (isAnswered && answer.is === 'approved') {
    const { by, at, verified } = answer
    return { is: 'open', policy: { ...policy, approved: { hash: proposed.hash, by, at, verified } } }
  }
  if (run?.fault) return open
  return { is: 'held', decision: waiting('ApprovalRequired', waitingText(observed, proposed), leftSeconds) }
}

function waitingText({ apply, view, approval }: Observed, { hash, because, guarded = [] }: ProposedPlan): string {
  const { name } = apply.metadata
  const { add = 0, change = 0, destroy = 0, replace = 0 } = view.record?.run?.plan ?? {}
  const counts = `${add + replace} to add, ${change} to change, ${destroy + replace} to destroy`
  const reasons = {
    Manual: 'approval is Manual',
    Guard: `it replaces or destroys guarded resources: ${listed(guarded)}`,
    Imported: 'it is the first one after an import, and it is not empty',
  }
  const why = approval.isUnconfirmed
    ? 'it is the first one after a restore and may repeat what was made after the backup'
    : reasons[because]
  const other =
    approval.answer?.is === 'approved' ? `. The approval of plan ${approval.answer.plan} does not count for it` : ''
  return `Plan ${hash} waits for approval (${counts}), because ${why}${other}. To read it: capt plan ${name}. To apply it: capt approve ${name} --plan ${hash}`
}

const listed = (addresses: readonly string[]): string =>
  addresses.length > 5 ? `${addresses.slice(0, 5).join(', ')} and ${addresses.length - 5} more` : addresses.join(', ')

/** What the status says of the plan of the last run. */
export function planStatus({ view, approval }: Observed): Readonly<Record<string, unknown>> | undefined {
  const { run, proposed } = view.record ?? {}
  if (!run?.plan) return undefined
  const isWaiting = run.phase === 'Planned' && proposed?.run === run.id
  const changes = run.changes ?? (isWaiting ? proposed.changes : undefined)
  return {
    ...run.plan,
    ...(changes ? { changes: changes.listed } : {}),
    ...(changes && changes.more > 0 ? { more: changes.more } : {}),
    ...(isWaiting ? waitingStatus(proposed, approval.answer) : {}),
    ...(run.approval
      ? {
          hash: run.approval.hash,
          approval: 'Approved',
          approvedBy: run.approval.by,
          ...(run.approval.at === '' ? {} : { approvedAt: run.approval.at }),
          approver: run.approval.verified ? 'verified' : 'unverified',
        }
      : {}),
  }
}

function waitingStatus({ hash, madeAt, expiresAt }: ProposedPlan, answer: Answer | undefined) {
  const isDenied = answer?.is === 'denied' && answer.plan === hash
  const denied = isDenied ? { approvedBy: answer.by } : {}
  return { hash, madeAt, expiresAt, approval: isDenied ? 'Denied' : 'Required', ...denied }
}

interface Reported {
  readonly conditions: readonly ConditionDraft[]
  /** Those that say something new. */
  readonly warnings: readonly ConditionDraft[]
}

/** Conditions are written only where they were ever true. */
export function approvalConditions({ apply, view }: Observed, decision: Decision<Action>): Reported {
  const isRequired = decision.is === 'waiting' && decision.reason === 'ApprovalRequired'
  const unknown = view.record?.run?.unknownGuard ?? []
  const drafts = [
    { type: 'ApprovalRequired', reason: 'ApprovalRequired', message: isRequired ? decision.message : '' },
    {
      type: 'GuardUnknown',
      reason: 'ResourceUnknown',
      message:
        unknown.length > 0
          ? `The guard names ${unknown.join(', ')}, and the workspace has no such resource: no effect`
          : '',
    },
  ]
  const conditions = drafts.flatMap(({ type, reason, message }): readonly ConditionDraft[] => {
    if (message !== '') return [{ type, status: 'True', reason, message }]
    return conditionOf(apply, type) ? [{ type, status: 'False', reason: 'None', message }] : []
  })
  const isNew = ({ type, status, message }: ConditionDraft) => {
    const before = conditionOf(apply, type)
    return status === 'True' && (before?.status !== 'True' || before.message !== message)
  }
  return { conditions, warnings: conditions.filter(isNew) }
}
