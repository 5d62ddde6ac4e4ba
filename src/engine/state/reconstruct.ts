// Decides what a workspace holds from all sources: record, saved state, its copies, the work folder,
// the status of the apply and the cloud's tags. Absent is not empty: a workspace is empty only when no source ever
// recorded a resource, or a person said so. Pure; what it needs to know in addition it asks for by name.
import { counted } from '#lib'
import type { RunRecord, Verb } from '../record/record.ts'

/** What counts of one state. `digest` distinguishes two states of the same serial. */
interface StateFacts {
  readonly serial: number
  readonly lineage: string
  readonly resources: number
  readonly digest: string
}

export type StateSource = { readonly is: 'missing' | 'damaged' } | ({ readonly is: 'whole' } & StateFacts)

/**
 * `backup`: as it was before an earlier change. `pending`: written before a state of several parts is replaced. `side`: saved
 * by a runner that had lost its lock.
 */
export interface CopySource {
  readonly kind: 'backup' | 'pending' | 'side'
  /** How people address it: `7`, or `7-1a2b3c4d`. */
  readonly id: string
  readonly serial: number
  readonly source: StateSource
  /** Resources of a side copy that the saved state does not have. */
  readonly unknown?: number
}

export type RecordSource =
  | { readonly is: 'missing' | 'damaged' }
  | ({ readonly is: 'whole' } & Pick<RunRecord, 'state' | 'backend' | 'restored' | 'expected' | 'lostRun'> & {
        /** The runner of the last run died in it: the state may have moved on since the record was written. */
        readonly isInterrupted?: boolean
      })

/** `unread`: they do not matter to the run. */
export type InputSource = 'none' | 'whole' | 'missing' | 'damaged' | 'unread'

export interface WorkspaceSources {
  readonly name: string
  readonly record: RecordSource
  readonly state: StateSource
  /** `missing` also where the folder is on another machine. */
  readonly folder: StateSource
  /** Copies that the record announces. Undefined: they were not read; they are asked for when they matter. */
  readonly copies?: readonly CopySource[] | undefined
  /** The record announces side or pending copies: these are read in any case. */
  readonly hasUnsettled?: boolean
  /** Resources in the status of the apply; it outlives a lost record. */
  readonly status?: number
  /** Resources found by their tag. Undefined: not asked. `unavailable`: nobody can be asked. */
  readonly tags?: number | 'unavailable' | undefined
}

interface Stall {
  readonly code:
    | 'CAPT_STATE_LOST'
    | 'CAPT_STATE_UNREADABLE'
    | 'CAPT_STATE_STALE'
    | 'CAPT_STATE_CONFLICT'
    | 'CAPT_STATE_SIDE_COPY'
    | 'CAPT_RECORD_UNREADABLE'
    | 'CAPT_RECORD_LOST'
    | 'CAPT_INPUTS_GONE'
  readonly message: string
  readonly hint: string
}

export type Reconstruction =
  | { readonly is: 'empty'; readonly notes: readonly string[] }
  | {
      readonly is: 'use'
      readonly from: 'state' | 'folder' | 'backend'
      readonly resources: number
      readonly notes: readonly string[]
    }
  | {
      readonly is: 'restore'
      readonly copy: string
      readonly resources: number
      readonly notes: readonly string[]
    }
  /** Not decidable yet: this has to be read first. */
  | { readonly is: 'ask'; readonly for: 'copies' | 'tags' }
  | ({ readonly is: 'stalled' } & Stall)

/** What a run works from. Frozen inputs that are gone matter only to a destroy without a template. */
export function decideInputs(
  name: string,
  verb: Verb,
  bundle: InputSource,
  hasTemplate: boolean,
): { readonly is: 'fine'; readonly notes: readonly string[] } | ({ readonly is: 'stalled' } & Stall) {
  const isLost = bundle === 'missing' || bundle === 'damaged'
  if (verb === 'destroy' && !hasTemplate && (isLost || bundle === 'none')) {
    const why = isLost ? `the inputs kept with the last run are ${wordFor(bundle)}` : 'no inputs were kept with a run'
    return {
      is: 'stalled',
      code: 'CAPT_INPUTS_GONE',
      message: `there is state to destroy, but ${why} and there is no template to do it with`,
      hint: `bring the WorkspaceTemplate back; or let the infrastructure stay: set spec.retainWorkspaceOnDelete, or run capt forget ${name} --orphan-resources`,
    }
  }
  const note = `The inputs kept with the last run are ${wordFor(bundle)}; working from the template`
  return { is: 'fine', notes: isLost ? [note] : [] }
}

const wordFor = (source: InputSource): string => (source === 'damaged' ? 'damaged' : 'gone')

type Whole = { readonly is: 'whole' } & StateFacts
type Candidate = Whole & { readonly from: 'state' | 'folder' | { readonly copy: string } }

export function reconstructWorkspace(sources: WorkspaceSources): Reconstruction {
  const { record, state, folder, copies } = sources
  if (record.is === 'whole' && record.backend !== undefined)
    return { is: 'use', from: 'backend', resources: 0, notes: [] }
  if (sources.hasUnsettled && copies === undefined) return { is: 'ask', for: 'copies' }
  const isDecided = record.is === 'whole' && isState(state, record.restored)
  if (!isDecided) {
    const side = copies?.find(({ kind, source, unknown = 0 }) => kind === 'side' && isWhole(source) && unknown > 0)
    if (side) return sideCopyStall(sources, side)
    const conflict = conflictOf(sources)
    if (conflict) return conflict
    if (record.is === 'whole' && record.lostRun !== undefined) return lostRunStall(sources, record.lostRun)
  }
  if (isDecided && isWhole(state)) return { is: 'use', from: 'state', resources: state.resources, notes: [] }

  const floor = floorOf(sources)
  // A folder of another lineage without resources is what a first run left that never made anything.
  const isFolderUsable = isWhole(folder) && (!isWhole(state) || folder.lineage === state.lineage)
  const here = newest([
    ...(isWhole(state) ? [{ ...state, from: 'state' } as const] : []),
    ...(isFolderUsable ? [{ ...folder, from: 'folder' } as const] : []),
  ])
  const needsCopies = state.is === 'damaged' || !here || !reaches(here, floor)
  if (needsCopies && copies === undefined && hasRecorded(sources)) return { is: 'ask', for: 'copies' }
  const left = [...(here ? [here] : []), ...usableCopies(sources, here)]
  const best = newest(left.filter((one) => reaches(one, floor))) ?? newest(left)

  if (best && reaches(best, floor) && isAsNewAsDamage(best, sources)) return decideRecord(sources, toUse(best, sources))
  if (state.is === 'damaged')
    return floor?.resources === 0 ? { is: 'empty', notes: [] } : unreadableStall(sources, best)
  if (floor && floor.resources > 0) return best ? staleStall(sources, floor, best) : lostStall(sources, floor.resources)
  if (isWhole(state)) return { is: 'use', from: 'state', resources: state.resources, notes: [] }
  return decideEmpty(sources)
}

/** Nothing local recorded a resource. Where the record itself is lost, the status and the tags are the last witnesses. */
function decideEmpty(sources: WorkspaceSources): Reconstruction {
  const { record, status = 0, tags, copies = [] } = sources
  // Destroyed according to the record: what copies had before is gone.
  if (record.is === 'whole' && record.state) return { is: 'empty', notes: [] }
  const inCopies = copies.map(({ source }) => (isWhole(source) ? source.resources : 0))
  const known = Math.max(record.is === 'whole' ? (record.expected ?? 0) : status, ...inCopies)
  if (known > 0) return lostStall(sources, known)
  if (record.is === 'whole') return { is: 'empty', notes: [] }
  if (tags === undefined) return { is: 'ask', for: 'tags' }
  if (typeof tags === 'number' && tags > 0) return lostStall(sources, tags)
  // A run was on once, and not everything that Terraform makes has a tag.
  if (record.is === 'damaged') return recordStall(sources, 'no other source shows whether there are resources')
  return { is: 'empty', notes: [] }
}

/** A damaged record beside a state with resources may hide a run or a decision: a person looks first. */
function decideRecord(sources: WorkspaceSources, found: Reconstruction): Reconstruction {
  const { record, state, folder } = sources
  const resources = Math.max(...[state, folder].map((one) => (isWhole(one) ? one.resources : 0)))
  if (record.is !== 'damaged' || resources === 0) return found
  return recordStall(sources, `the state has ${count(resources)}`)
}

function recordStall({ name }: WorkspaceSources, and: string): Reconstruction {
  return {
    is: 'stalled',
    code: 'CAPT_RECORD_UNREADABLE',
    message: `the run record cannot be read, and ${and}`,
    hint: `restore its Secret, or run the version of capt that wrote it; when nothing runs for ${name}, delete that Secret: the record is then rebuilt from the state`,
  }
}

function toUse(best: Candidate, { state }: WorkspaceSources): Reconstruction {
  if (typeof best.from === 'object') {
    const why = state.is === 'whole' ? `older (serial ${state.serial})` : wordFor(state.is)
    return {
      is: 'restore',
      copy: best.from.copy,
      resources: best.resources,
      notes: [
        `Restored copy ${best.from.copy} of the state, serial ${best.serial} with ${count(best.resources)}: the saved state was ${why}`,
      ],
    }
  }
  const isRepaired = best.from === 'folder' && state.is === 'damaged'
  return {
    is: 'use',
    from: best.from,
    resources: best.resources,
    notes: isRepaired ? ['The saved state was damaged; it is replaced by the one in the work folder'] : [],
  }
}

type Floor = Omit<StateFacts, 'digest'>

/** The state that the record names: anything older is not what the last run left. */
function floorOf({ record }: WorkspaceSources): Floor | undefined {
  return record.is === 'whole' ? record.state : undefined
}

function reaches({ serial, lineage }: StateFacts, floor: Floor | undefined): boolean {
  return !floor || (lineage === floor.lineage && serial >= floor.serial)
}

/** How new a damaged state was is known from the record, or from the copy that was announced before it was replaced. */
function isAsNewAsDamage({ serial }: StateFacts, sources: WorkspaceSources): boolean {
  if (sources.state.is !== 'damaged') return true
  const pending = (sources.copies ?? []).filter(({ kind }) => kind === 'pending')
  return (floorOf(sources) !== undefined || pending.length > 0) && pending.every((copy) => copy.serial <= serial)
}

/**
 * A pending copy is used whenever it is newer. A backup is the state before a change: it replaces what the record names
 * when that run has ended, and never what was destroyed meanwhile.
 */
function usableCopies(sources: WorkspaceSources, here: Candidate | undefined): readonly Candidate[] {
  const { record, state, copies = [] } = sources
  const lineage = here?.lineage
  const isSettled = record.is === 'whole' && !record.isInterrupted && (record.state?.resources ?? 0) > 0
  return copies.flatMap(({ kind, id, source }): readonly Candidate[] => {
    if (!isWhole(source) || kind === 'side') return []
    if (kind === 'backup' && (state.is === 'whole' || !isSettled)) return []
    return lineage === undefined || source.lineage === lineage ? [{ ...source, from: { copy: id } }] : []
  })
}

/** Any trace of a resource, or of a state that cannot be read. */
function hasRecorded(sources: WorkspaceSources): boolean {
  return (floorOf(sources)?.resources ?? 0) > 0 || sources.state.is === 'damaged'
}

function newest(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.reduce<Candidate | undefined>(
    (best, one) => (best && best.serial >= one.serial ? best : one),
    undefined,
  )
}

/** Folder and saved state that cannot both be right. */
function conflictOf({ name, record, state, folder }: WorkspaceSources): Reconstruction | undefined {
  const hint = `capt state list ${name} shows the copies; capt state restore decides which one holds`
  const stall = (message: string): Reconstruction => ({ is: 'stalled', code: 'CAPT_STATE_CONFLICT', message, hint })
  if (!isWhole(state)) return undefined
  if (isWhole(folder)) {
    if (folder.lineage !== state.lineage) {
      if (folder.resources > 0)
        return stall(
          `the work folder holds state of lineage ${folder.lineage} with ${count(folder.resources)}, the saved state is of lineage ${state.lineage}`,
        )
    } else if (folder.serial === state.serial && folder.digest !== state.digest) {
      return stall(
        `two different states have lineage ${state.lineage} and serial ${state.serial}: one in the work folder, one saved`,
      )
    }
  }
  const saved = record.is === 'whole' ? record.state : undefined
  if (!saved || saved.resources === 0 || saved.lineage === state.lineage) return undefined
  return stall(
    `the saved state is of lineage ${state.lineage}, the last run saved lineage ${saved.lineage} with ${count(saved.resources)}`,
  )
}

function isState(state: StateSource, wanted: RunRecord['restored']): boolean {
  return isWhole(state) && state.serial === wanted?.serial && state.lineage === wanted.lineage
}

const isWhole = (source: StateSource): source is Whole => source.is === 'whole'
const count = (resources: number): string => counted(resources, 'resource')

const waysOut = (name: string): string =>
  `put the state back: restore its Secret from a backup, or run capt state restore ${name} --file FILE; when the resources may stay without an owner: capt forget ${name} --orphan-resources`

function lostStall({ name }: WorkspaceSources, resources: number): Reconstruction {
  return {
    is: 'stalled',
    code: 'CAPT_STATE_LOST',
    message: `the state is gone while ${count(resources)} ${resources === 1 ? 'is' : 'are'} recorded: neither its Secret nor a copy nor the work folder has it`,
    hint: waysOut(name),
  }
}

function lostRunStall({ name, state }: WorkspaceSources, run: string): Reconstruction {
  const goOn = isWhole(state)
    ? `to go on from the saved state: capt state restore ${name} --serial ${state.serial}; `
    : ''
  return {
    is: 'stalled',
    code: 'CAPT_RECORD_LOST',
    message: `run ${run} and its record were lost together: no source shows what it has begun`,
    hint: `restore the Secret of the record from a backup; or look for what the run has made, then ${goOn}to start over and leave it without an owner: capt forget ${name} --orphan-resources`,
  }
}

function staleStall(sources: WorkspaceSources, floor: Floor, best: Candidate): Reconstruction {
  const where =
    typeof best.from === 'object'
      ? `copy ${best.from.copy}`
      : best.from === 'state'
        ? 'the saved state'
        : 'the state in the work folder'
  return {
    is: 'stalled',
    code: 'CAPT_STATE_STALE',
    message: `the newest state that is left is ${where}, serial ${best.serial} with ${count(best.resources)}; the last run saved serial ${floor.serial} with ${count(floor.resources)}`,
    hint: `${waysOut(sources.name)}; to work from an older copy: capt state restore ${sources.name} --serial ${best.serial}`,
  }
}

function unreadableStall({ name }: WorkspaceSources, best: Candidate | undefined): Reconstruction {
  const older = best ? `; the newest whole copy is serial ${best.serial} with ${count(best.resources)}` : ''
  return {
    is: 'stalled',
    code: 'CAPT_STATE_UNREADABLE',
    message: `the saved state is cut or damaged, and no copy is as new${older}`,
    hint: `capt state list ${name} shows the copies; ${waysOut(name)}`,
  }
}

function sideCopyStall({ name }: WorkspaceSources, { id, unknown = 0 }: CopySource): Reconstruction {
  return {
    is: 'stalled',
    code: 'CAPT_STATE_SIDE_COPY',
    message: `a runner that lost its lock saved ${count(unknown)} that the state does not have in copy ${id}`,
    hint: `capt state show ${name} --copy ${id} lists them; capt state restore ${name} --copy ${id} makes that copy hold, capt state discard ${name} --copy ${id} drops it`,
  }
}
