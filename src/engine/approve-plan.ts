// Approves or denies the plan of an apply as the user of the connection; the command line and the page share it. The
// approval names the plan's hash and the user as the API server knows them.
import {
  APPROVED_AT_ANNOTATION,
  APPROVED_BY_ANNOTATION,
  APPROVED_PLAN_ANNOTATION,
  DENIED_BY_ANNOTATION,
  DENIED_PLAN_ANNOTATION,
  notFound,
  type SelfSubjectReview,
  SelfSubjectReviewKind,
  WorkspaceTemplateApply,
} from '#api'
import type { Objects } from '#kube'
import { toTimestamp } from '#lib'
import { readRecord } from './record/record-store.ts'
import { approvablePlan } from './runner/plan/approvable.ts'
import type { ObjectKey } from './workspace.ts'

interface PlanDecision {
  /** The hash or its beginning; left out: whichever plan waits. */
  readonly plan?: string
  readonly deny: boolean
}

interface DecidedPlan {
  readonly hash: string
  readonly user: string
  /** Nothing starts before spec.suspend is false. */
  readonly isSuspended: boolean
}

export async function decideOnPlan(
  objects: Objects,
  key: ObjectKey,
  { plan, deny }: PlanDecision,
  nowMs: number,
): Promise<DecidedPlan> {
  const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
  if (!apply) throw notFound(WorkspaceTemplateApply, key)
  const record = (await readRecord(objects, key))?.record
  const { hash } = approvablePlan(apply, record, plan, nowMs)
  const user = await userOf(objects)
  const annotations = deny ? denial(hash, user) : approval(hash, user, toTimestamp(nowMs))
  await objects.patch(WorkspaceTemplateApply, key, { type: 'merge', body: { metadata: { annotations } } })
  return { hash, user, isSuspended: apply.spec.suspend === true }
}

const approval = (hash: string, user: string, at: string) => ({
  [APPROVED_PLAN_ANNOTATION]: hash,
  [APPROVED_BY_ANNOTATION]: user,
  [APPROVED_AT_ANNOTATION]: at,
  [DENIED_PLAN_ANNOTATION]: null,
  [DENIED_BY_ANNOTATION]: null,
})

const denial = (hash: string, user: string) => ({
  [DENIED_PLAN_ANNOTATION]: hash,
  [DENIED_BY_ANNOTATION]: user,
  [APPROVED_PLAN_ANNOTATION]: null,
  [APPROVED_BY_ANNOTATION]: null,
  [APPROVED_AT_ANNOTATION]: null,
})

async function userOf(objects: Objects): Promise<string> {
  const review = await objects.create<SelfSubjectReview>(SelfSubjectReviewKind, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    metadata: { name: '' },
  })
  return review.status?.userInfo?.username ?? ''
}
