// What a workspace holds by everything that can be read of it, without starting a run. Deletion asks before it believes that
// nothing is left; the doctor asks for people.
import type { Objects } from '#kube'
import { isCaptError } from '#lib'
import { observeLock, unreleasedRun } from '../lock/lock.ts'
import type { Owner } from '../owner.ts'
import type { ApplyFacts, TagCounter } from '../port.ts'
import { isFresh, knownRecord } from '../record/rebuild.ts'
import type { RunRecord } from '../record/record.ts'
import { readRecord } from '../record/record-store.ts'
import { type Reconstruction, reconstructWorkspace, type StateSource } from '../state/reconstruct.ts'
import { hasUnsettled, readCopies, recordSource, stateSource } from '../state/sources.ts'
import { observeState } from '../state/state-store.ts'

export interface InspectOptions extends ApplyFacts {
  /** State in the work folder, where this machine has one. */
  readonly folder?: StateSource
  /** Asked only when no other source knows, and only where the id of the workspace is known. */
  readonly countTagged?: TagCounter | undefined
}

export async function inspectWorkspace(
  objects: Objects,
  owner: Owner,
  options: InspectOptions = {},
): Promise<Reconstruction> {
  const { folder = { is: 'missing' }, status = 0 } = options
  const { record, isDamaged } = await readOrDamaged(objects, owner)
  const saved = await observeState(objects, owner)
  // A lost record is not the end of what it announced: the state Secret names its copies.
  const known = knownRecord(record, { kept: saved.kept })
  const sources = {
    name: owner.name,
    record: isDamaged ? ({ is: 'damaged' } as const) : recordSource(record, false),
    state: stateSource(saved.text, saved.isDamaged),
    folder,
    hasUnsettled: hasUnsettled(known),
    status,
  } as const
  let found = reconstructWorkspace(sources)
  if (found.is === 'ask' && found.for === 'copies') {
    const copies = await readCopies(objects, owner, known, saved.text)
    found = reconstructWorkspace({ ...sources, copies })
  }
  const isNothingFound = found.is === 'ask' || found.is === 'empty' || (found.is !== 'stalled' && found.resources === 0)
  if (isNothingFound && (await mayHaveBegun(objects, owner, record)))
    return { is: 'use', from: 'state', resources: 1, notes: [] }
  if (found.is !== 'ask') return found
  const id = known.workspaceId || options.workspaceId
  const tags = (id ? await options.countTagged?.(owner, id) : undefined) ?? 'unavailable'
  return reconstructWorkspace({ ...sources, copies: [], tags })
}

/**
 * Inputs are frozen before anything is made: a record with them may have been put back since the caller read it. Without a record,
 * a run that has not released the lock may be making the first resource, or was lost with its record. The destroy finds out.
 */
async function mayHaveBegun(objects: Objects, owner: Owner, record: RunRecord | undefined): Promise<boolean> {
  return record ? record.bundle !== undefined : unreleasedRun(await observeLock(objects, owner)) !== undefined
}

async function readOrDamaged(
  objects: Objects,
  owner: Owner,
): Promise<{ readonly record: RunRecord | undefined; readonly isDamaged: boolean }> {
  try {
    const record = (await readRecord(objects, owner))?.record
    // One that was made for the run that is on says nothing about what was before.
    return { record: record && isFresh(record) && record.run === undefined ? undefined : record, isDamaged: false }
  } catch (error) {
    if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE')) throw error
    return { record: undefined, isDamaged: true }
  }
}
