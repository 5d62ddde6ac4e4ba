// The status patch after a reconcile, or nothing when the status is up to date.
import type { AnyObject, Condition, Kind, KindRef } from '#api'
import { jsonEqual } from '#lib'
import type { StatusReport } from '../controller.ts'
import { mergePatchOf } from '../merge-patch.ts'
import { conditionsOf, mergeConditions } from './conditions.ts'
import type { Summary } from './summary.ts'

interface StatusChange {
  readonly patch: Readonly<Record<string, unknown>>
  readonly conditions: readonly Condition[]
}

interface StatusInput {
  readonly kind: KindRef
  /** The object as it was observed: the report is about its generation. */
  readonly observed: AnyObject
  /** The object in the cache now: the patch is relative to it. */
  readonly latest: AnyObject
  readonly report: StatusReport
  readonly summary: Summary | undefined
  readonly nowMs: number
}

export function toStatusChange(input: StatusInput): StatusChange | undefined {
  const { kind, observed, latest, report, summary } = input
  const generation = observed.metadata.generation
  const before = ((latest as { status?: unknown }).status ?? {}) as Readonly<Record<string, unknown>>
  const previous = conditionsOf(latest)
  const drafts = [...(summary?.drafts ?? []), ...(report.conditions ?? []).filter(isStep(summary))]
  const conditions = mergeConditions(previous, {
    drafts,
    removed: summary?.removed ?? [],
    nowMs: input.nowMs,
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
