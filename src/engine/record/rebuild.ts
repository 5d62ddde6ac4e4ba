// What a lost run record is rebuilt from: the state Secret and the last report in the work folder name the id that
// resources are tagged with, and everything that is kept beside the state.
import { isPlainObject } from '#lib'
import { type BundleRef, newRecord, type RunRecord } from './record.ts'

type Kept = Pick<RunRecord, 'workspaceId' | 'backups' | 'kept' | 'suspects'> &
  Partial<Pick<RunRecord, 'bundle' | 'spare' | 'inFlight' | 'imported'>>

export interface Remnants {
  /** Annotation of the state Secret. */
  readonly kept?: string | undefined
  /** The record as the runner last reported it in a folder of the same apply. */
  readonly report?: RunRecord | undefined
}

export function keptFacts(record: RunRecord): string {
  const { spare: _announcedLater, ...facts } = factsOf(record)
  return JSON.stringify(facts)
}

/**
 * A record without a past takes over what is known of the one that was lost; the state Secret decides whose it is. What a run had
 * begun is known when a state was saved since, or when the report is its own: both name what is in flight.
 */
export function rebuildRecord(record: RunRecord, { kept, report }: Remnants): RunRecord {
  if (!isFresh(record)) return record
  const saved = kept === undefined ? undefined : parseFacts(kept)
  const reported = report && report.workspaceId !== record.workspaceId ? factsOf(report) : undefined
  const facts = saved && reported?.workspaceId === saved.workspaceId ? unite(reported, saved) : (saved ?? reported)
  if (!facts || facts.workspaceId === record.workspaceId) return record
  const { lostRun, ...others } = record
  const isKnown = facts.inFlight?.run === lostRun || (facts !== saved && report?.run?.id === lostRun)
  return { ...(isKnown ? others : record), ...facts }
}

/** For a caller that removes what is kept: what other sources know of a record that is lost or damaged. */
export function knownRecord(record: RunRecord | undefined, remnants: Remnants): RunRecord {
  return rebuildRecord(record ?? newRecord(''), remnants)
}

/**
 * It knows nothing of a workspace: it was written by a manager that found none. Runs that ended before they looked at
 * the workspace leave it so.
 */
export function isFresh({ state, bundle, applied, forgotten }: RunRecord): boolean {
  return !state && !bundle && !applied && !forgotten
}

/** It took the place of a record that was lost and that a person may put back: it is read again before it is decided by. */
export function isReplacement(record: RunRecord): boolean {
  return isFresh(record) && (record.lostRun !== undefined || record.expected !== undefined)
}

function factsOf({ workspaceId, backups, kept, bundle, spare, suspects, inFlight, imported }: RunRecord): Kept {
  return {
    ...{ workspaceId, backups, kept, suspects },
    ...(bundle ? { bundle } : {}),
    ...(spare ? { spare } : {}),
    ...(inFlight ? { inFlight } : {}),
    ...(imported ? { imported } : {}),
  }
}

/** The report is the newer one; what only the state Secret names is spare by then, or still to be taken away. */
function unite(newer: Kept, older: Kept): Kept {
  const bundle = newer.bundle ?? older.bundle
  const spare = uniqueBy([...(newer.spare ?? []), older.bundle].filter(isBundle), ({ id }) => id)
  const others = spare.filter(({ id }) => id !== bundle?.id)
  return {
    workspaceId: newer.workspaceId,
    backups: uniqueBy([...newer.backups, ...older.backups], ({ serial }) => serial),
    kept: [...new Set([...newer.kept, ...older.kept])],
    suspects: uniqueBy([...newer.suspects, ...older.suspects], ({ address }) => address),
    ...(newer.inFlight ? { inFlight: newer.inFlight } : {}),
    ...(newer.imported ? { imported: newer.imported } : {}),
    ...(bundle ? { bundle } : {}),
    ...(others.length > 0 ? { spare: others } : {}),
  }
}

const isBundle = (ref: BundleRef | undefined): ref is BundleRef => ref !== undefined

function uniqueBy<T>(list: readonly T[], keyOf: (one: T) => unknown): readonly T[] {
  return [...new Map(list.toReversed().map((one) => [keyOf(one), one])).values()].reverse()
}

function parseFacts(text: string): Kept | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    if (!isPlainObject(parsed) || typeof parsed['workspaceId'] !== 'string') return undefined
    const { workspaceId, backups, kept, bundle, suspects, inFlight, imported } = parsed
    return {
      workspaceId,
      backups: Array.isArray(backups) ? (backups as RunRecord['backups']) : [],
      kept: Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [],
      suspects: Array.isArray(suspects) ? (suspects as RunRecord['suspects']) : [],
      ...(isPlainObject(inFlight) ? { inFlight: inFlight as unknown as NonNullable<RunRecord['inFlight']> } : {}),
      ...(isPlainObject(imported) ? { imported: imported as unknown as NonNullable<RunRecord['imported']> } : {}),
      ...(isPlainObject(bundle) ? { bundle: bundle as unknown as NonNullable<RunRecord['bundle']> } : {}),
    }
  } catch {
    return undefined
  }
}
