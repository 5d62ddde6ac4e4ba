// Between plan and apply: may this plan be applied? Yes where plans are applied by themselves and no guarded resource is replaced
// or destroyed, or where exactly this plan was approved. Otherwise it is stored, and the run ends with it.
import { randomBytes } from 'node:crypto'
import type { ApprovalPolicy } from '../../record/record.ts'
import type { RunContext } from '../context.ts'
import type { Planned, Reviewed } from '../values.ts'
import { listChanges } from './changes.ts'
import { checkDrift, refuseMoreThanDrift } from './check-drift.ts'
import { guardedAddresses } from './guard.ts'
import { readPlanJson } from './plan-json.ts'
import { packPlanText, propose, toPlanText } from './proposal.ts'

export async function review(context: RunContext, planned: Planned): Promise<Reviewed> {
  const { counts, recalled, terraform } = planned
  if (context.request.check) return { ...planned, drift: await checkDrift(context, planned, context.request.check) }
  if (context.request.corrects !== undefined && counts && !recalled) await refuseMoreThanDrift(context, planned)
  const policy = context.request.verb === 'apply' ? context.request.approval : undefined
  const changes = recalled
    ? context.writer.record.proposed?.changes
    : counts && listChanges(terraform.progress.changes, (text) => context.redact(text))
  const reviewed: Reviewed = changes ? { ...planned, changes } : planned
  if (policy && context.request.speculativeFor !== undefined) return reviewByPeople(context, reviewed, policy)
  // A stored plan is recalled only when it was approved, or when none of its kind needs to be (planObstacle).
  if (!policy || !counts || recalled) return reviewed
  if (policy.mode === 'Auto' && guardedAddresses(terraform.progress.changes, policy.guard).length === 0) return reviewed
  return reviewByPeople(context, reviewed, policy)
}

const BECAUSE = {
  Manual: 'approval is Manual',
  Guard: 'it replaces or destroys guarded resources',
  Imported: 'it is the first one after an import, and it is not empty',
} as const

async function reviewByPeople(context: RunContext, planned: Reviewed, policy: ApprovalPolicy): Promise<Reviewed> {
  const { request, writer, world } = context
  const { terraform, layout, state, plans, backend } = planned
  const detail = readPlanJson(await terraform.show(layout))
  context.addSecrets(detail.secrets)
  const redact = (text: string) => context.redact(text)
  const earlier = writer.record.proposed
  const isAnswered = policy.approved !== undefined && policy.approved.hash === earlier?.hash
  const proposed = propose({
    detail,
    policy,
    // With the salt of the approved plan, the same plan has the same hash.
    salt: isAnswered ? earlier.salt : randomBytes(16).toString('hex'),
    runId: request.runId,
    verb: request.verb,
    inputs: layout.workspace.hash,
    state: state.saved,
    nowMs: world.clock.now(),
    redact,
  })
  const { changes } = proposed
  if (policy.approved?.hash === proposed.hash && request.speculativeFor === undefined) return { ...planned, changes }
  context.note(
    isAnswered
      ? 'The plan is not the one that was approved: it waits for another approval'
      : `The plan waits for approval: ${BECAUSE[proposed.because]}`,
  )
  if (backend === undefined && request.speculativeFor === undefined) await plans.hold(layout, planned.counts!, proposed)
  return { ...planned, changes, proposed, planText: packPlanText(toPlanText(detail, redact)) }
}
