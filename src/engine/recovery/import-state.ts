// Takes over a Terraform state that another program kept: into the layout of capt, with a run record that knows of it
// before the state itself is there. The first plan after that is approved by a person, unless it is empty.
import { randomUUID } from 'node:crypto'
import type { Objects } from '#kube'
import { CaptError, type Clock, toTimestamp } from '#lib'
import { lockState, stateInUse } from '../lock/lock.ts'
import type { Owner } from '../owner.ts'
import { type ImportMark, isOpen, newRecord, type RunRecord } from '../record/record.ts'
import { readRecord, recordTaken, writeRecord } from '../record/record-store.ts'
import { readState, type StateInfo } from '../state/state-file.ts'
import { observeState, type StateCopy, saveState, verifyState } from '../state/state-store.ts'

/** `same`: it was taken over before, and nothing has been applied since. */
type Verdict =
  | { readonly is: 'free' | 'same' }
  | {
      readonly is: 'refused'
      readonly code: 'CAPT_STATE_CONFLICT' | 'CAPT_STATE_UNREADABLE'
      readonly message: string
    }

/** Whether a state may be put where `found` and `record` are. Pure. */
export function decideImport(
  wanted: Pick<StateInfo, 'serial' | 'lineage'>,
  text: string,
  found: Pick<StateCopy, 'text' | 'isDamaged'>,
  record: Pick<RunRecord, 'state' | 'backend'> | undefined,
): Verdict {
  const conflict = (message: string): Verdict => ({ is: 'refused', code: 'CAPT_STATE_CONFLICT', message })
  if (record?.backend !== undefined) return conflict(`its state is kept in the backend ${record.backend}`)
  if (found.isDamaged)
    return { is: 'refused', code: 'CAPT_STATE_UNREADABLE', message: 'a damaged state is there already' }
  const there = readState(found.text ?? '') ?? record?.state
  if (!there) return { is: 'free' }
  const known = `lineage ${there.lineage} and serial ${there.serial}`
  if (there.lineage !== wanted.lineage)
    return conflict(`a state of ${known} is there already; the new one is of lineage ${wanted.lineage}`)
  if (there.serial !== wanted.serial)
    return conflict(`a state of ${known} is there already; the new one has serial ${wanted.serial}`)
  if (found.text === undefined) return { is: 'free' }
  return found.text === text ? { is: 'same' } : conflict(`another state of ${known} is there already`)
}

/** Reads only: throws what `importState` would throw. */
export async function checkImport(objects: Objects, owner: Owner, text: string): Promise<StateInfo> {
  return (await examine(objects, owner, text)).wanted
}

/** Returns what was put there. */
export async function importState(
  objects: Objects,
  clock: Clock,
  owner: Owner,
  text: string,
  mark: ImportMark,
): Promise<StateInfo> {
  const lock = await lockState(objects, clock, owner, 'import')
  try {
    const { wanted, seen, verdict } = await examine(objects, owner, text)
    if (verdict.is === 'same' && seen?.record.state) return wanted
    const { serial, lineage, addresses } = wanted
    const savedAt = toTimestamp(clock.now())
    const record: RunRecord = {
      ...(seen?.record ?? newRecord(randomUUID())),
      state: { serial, lineage, savedAt, resources: addresses.length },
      imported: { ...mark, at: savedAt },
    }
    // The record first: a state that it names and that is not there stops every run.
    if (!(await writeRecord(objects, owner, seen, record))) throw recordTaken(owner)
    await saveState(objects, owner, text, 0)
    await verifyState(objects, owner, text)
    return wanted
  } finally {
    await lock.release()
  }
}

async function examine(objects: Objects, owner: Owner, text: string) {
  const wanted = readState(text)
  if (!wanted)
    throw new CaptError(
      'CAPT_STATE_UNREADABLE',
      `the state for ${owner.name} is not a whole Terraform state of format version 4`,
      {
        hint: 'export its Secret again; terraform 1.x writes this format',
      },
    )
  const seen = await readRecord(objects, owner)
  if (isOpen(seen?.record.run)) throw stateInUse(owner, `run ${seen.record.run.id}`)
  const verdict = decideImport(wanted, text, await observeState(objects, owner), seen?.record)
  if (verdict.is === 'refused')
    throw new CaptError(verdict.code, `the state for ${owner.namespace}/${owner.name}: ${verdict.message}`, {
      hint: `capt state list ${owner.name} shows what is there; capt state restore ${owner.name} --file FILE decides for another one`,
    })
  return { wanted, seen, verdict }
}
