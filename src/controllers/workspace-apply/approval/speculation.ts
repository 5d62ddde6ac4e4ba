// Speculative applies (`spec.speculativeFor`): they plan other values upon the state of another apply, apply nothing, and are
// deleted after an hour. The target is neither locked nor changed.
import { type ObjectRef, PROPOSED_FOR_ANNOTATION, toKey, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import type { Cache } from '#kube'
import { act, type Decision, stalled, waiting } from '#runtime'
import type { Action } from '../actions.ts'
import { refText } from '../dependencies.ts'
import type { Observed } from '../observe.ts'

const LIFE_SECONDS = 3600

export interface Speculation {
  readonly target: string
  /** Why nothing may be planned. */
  readonly refusal: string | undefined
  readonly leftSeconds: number
}

/** Undefined for an ordinary apply. */
export function observeSpeculation(
  cache: Cache,
  apply: WorkspaceTemplateApply,
  nowMs: number,
): Speculation | undefined {
  const { speculativeFor: target, templateRef } = apply.spec
  if (target === undefined) return undefined
  const { namespace = '', creationTimestamp } = apply.metadata
  const found = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name: target })
  const isSame = found && isVersionOf(cache, templateRef, found.spec.templateRef, namespace)
  return {
    target,
    refusal: !found
      ? `there is no WorkspaceTemplateApply ${namespace}/${target}`
      : found.spec.speculativeFor !== undefined
        ? `${target} is speculative itself`
        : isSame
          ? undefined
          : `${target} has another template; only other values, or a version proposed for its template, can be planned`,
    leftSeconds: Math.ceil((Date.parse(creationTimestamp ?? '') + LIFE_SECONDS * 1000 - nowMs) / 1000),
  }
}

/** The same template, or one beside it that is marked as its next version. */
function isVersionOf(cache: Cache, ref: ObjectRef, target: ObjectRef, namespace: string): boolean {
  if (refText(ref, namespace) === refText(target, namespace)) return true
  if ((ref.namespace ?? namespace) !== (target.namespace ?? namespace)) return false
  const proposal = cache.get<WorkspaceTemplate>(WorkspaceTemplate, toKey(refText(ref, namespace)))
  return proposal?.metadata.annotations?.[PROPOSED_FOR_ANNOTATION] === target.name
}

/** Terraform is given the name of the target, so that only the values differ. */
export function asTarget(apply: WorkspaceTemplateApply): WorkspaceTemplateApply {
  const name = apply.spec.speculativeFor
  return name === undefined ? apply : { ...apply, metadata: { ...apply.metadata, name } }
}

/** Undefined when it goes on like any other apply. */
export function decideSpeculation({ speculation, view }: Observed): Decision<Action> | undefined {
  if (!speculation) return undefined
  const { record } = view
  // A destroy would follow its deletion.
  if (record?.applied || (record?.state?.resources ?? 0) > 0)
    return stalled('SpeculationRefused', 'It has resources of its own', 'remove spec.speculativeFor')
  if (speculation.leftSeconds <= 0) return act({ do: 'delete-self' })
  if (speculation.refusal === undefined) return undefined
  return stalled(
    'SpeculationRefused',
    `Nothing is planned: ${speculation.refusal}`,
    'correct spec.speculativeFor or spec.templateRef, or delete this object',
    speculation.leftSeconds,
  )
}

/** Whatever it waits for: when its hour is over it is deleted. */
export function untilExpired({ speculation }: Observed, decision: Decision<Action>): Decision<Action> {
  if (!speculation || decision.is === 'act') return decision
  const { retryAfterSeconds = speculation.leftSeconds } = decision
  return { ...decision, retryAfterSeconds: Math.min(retryAfterSeconds, speculation.leftSeconds) }
}

/** The plan that was made is all there is to do. */
export function speculationDone({ apply, speculation, view }: Observed, inputs: string): Decision<Action> | undefined {
  const proposed = view.record?.proposed
  if (!speculation || proposed?.inputs !== inputs) return undefined
  const message = `What this would change in ${speculation.target} is planned: capt plan ${apply.metadata.name}. It is never applied`
  return waiting('SpeculationPlanned', message, speculation.leftSeconds)
}
