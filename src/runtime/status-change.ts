// What a turn would write to the status of its object, or nothing when the status says so already.
import type { AnyObject, Condition, Kind, KindRef } from '#api'
import { jsonEqual } from '#lib'
import { conditionsOf, mergeConditions } from './conditions.ts'
import type { StatusReport } from './controller.ts'
import { mergePatchOf } from './merge-patch.ts'
import type { Summary } from './summary.ts'

export interface StatusChange {
  readonly patch: Readonly<Record<string, unknown>>
  readonly conditions: readonly Condition[]
}

export interface StatusTurn {
  readonly kind: KindRef
  /** The object as the turn observed it: its generation is what the report speaks of. */
  readonly observed: AnyObject
  /** The object as the cache knows it now: what the patch is compared with. */
  readonly latest: AnyObject
  readonly report: StatusReport
  readonly summary: Summary | undefined
  readonly nowMs: number
}

export function toStatusChange(turn: StatusTurn): StatusChange | undefined {
  const { kind, observed, latest, report, summary } = turn
  const generation = observed.metadata.generation
  const before = ((latest as { status?: unknown }).status ?? {}) as Readonly<Record<string, unknown>>
  const previous = conditionsOf(latest)
  const drafts = [...(summary?.drafts ?? []), ...(report.conditions ?? []).filter(isStep(summary))]
  const conditions = mergeConditions(previous, {
    drafts,
    removed: summary?.removed ?? [],
    nowMs: turn.nowMs,
    generation,
  })
  const after: Record<string, unknown> = { ...before, ...report.fields }
  if (!jsonEqual(conditions, previous)) after['conditions'] = conditions
  if (summary && hasObservedGeneration(kind)) after['observedGeneration'] = generation
  const patch = mergePatchOf(before, after)
  return patch && { patch, conditions }
}

/** Steps set only their own conditions: the summary belongs to the decision. */
function isStep(summary: Summary | undefined): (draft: { readonly type: string }) => boolean {
  const taken = new Set([...(summary?.drafts ?? []).map((draft) => draft.type), ...(summary?.removed ?? [])])
  return (draft) => !taken.has(draft.type)
}

/** Kinds that pruned the field would be written for ever; those that declare it get it. */
function hasObservedGeneration(kind: KindRef): boolean {
  return (kind as Partial<Kind>).status?.schema.properties?.['observedGeneration'] !== undefined
}
