// What the state Secret carries so that a lost run record can be rebuilt from it: the id that resources are tagged with,
// and the names of everything that is kept beside the state.
import { isPlainObject } from '#lib'
import type { RunRecord } from './record.ts'

type Kept = Pick<RunRecord, 'workspaceId' | 'backups' | 'kept'> & Partial<Pick<RunRecord, 'bundle'>>

export function keptFacts({ workspaceId, bundle, backups, kept }: RunRecord): string {
  const facts: Kept = { workspaceId, backups, kept, ...(bundle ? { bundle } : {}) }
  return JSON.stringify(facts)
}

/** A record without a past takes over what the state Secret says of the one that was lost. */
export function rebuildRecord(record: RunRecord, text: string | undefined): RunRecord {
  const facts = text === undefined || !isFresh(record) ? undefined : parseFacts(text)
  if (!facts || facts.workspaceId === record.workspaceId) return record
  return { ...record, ...facts }
}

/** Written for the run that is on, by a manager that found none. */
export function isFresh({ history, state, bundle, applied, forgotten }: RunRecord): boolean {
  return history.length === 0 && !state && !bundle && !applied && !forgotten
}

function parseFacts(text: string): Kept | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    if (!isPlainObject(parsed) || typeof parsed['workspaceId'] !== 'string') return undefined
    const { workspaceId, backups, kept, bundle } = parsed
    return {
      workspaceId,
      backups: Array.isArray(backups) ? (backups as RunRecord['backups']) : [],
      kept: Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [],
      ...(isPlainObject(bundle) ? { bundle: bundle as unknown as NonNullable<RunRecord['bundle']> } : {}),
    }
  } catch {
    return undefined
  }
}
