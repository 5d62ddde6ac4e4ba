// What a run is about to make, written into the record before Terraform applies, and what of it is in doubt when the run is
// lost. Pure. A deletion is never in doubt: it is simply tried again.
import type { Progress } from '../messages.ts'
import type { PlannedChange } from '../runner/plan/changes.ts'
import type { Suspect } from './record.ts'

type Doubt = Omit<Suspect, 'run'>

/** What the applied plan makes and no saved state has: all that is known of it when runner, folder and machine are lost. */
export interface InFlight {
  readonly run: string
  /** The messages of its Terraform begin with this mark: where they have it, they show what has begun. */
  readonly mark: string
  /** Boot of the machine it was written on: of an earlier boot, the last messages may not have reached the disk. */
  readonly boot: string
  /** Those that have begun come before those that are only planned. */
  readonly addresses: readonly Doubt[]
  /** Further ones, only counted. */
  readonly more: number
}

/** As many are named in a record and in the status of an apply. */
export const MOST_NAMED = 500

/** Addresses that Terraform has begun and not ended, then those that it has made and `saved` does not have. */
export function begunAddresses(progress: Progress, saved: ReadonlySet<string>): ReadonlyMap<string, string> {
  const unsaved = [...progress.finished].filter(([address, action]) => action === 'create' && !saved.has(address))
  const begun = [...progress.inFlight, ...unsaved].filter(([, action]) => CHANGES.has(action))
  // A state may still have the object that is replaced.
  const isReplaced = (address: string) => progress.planned.get(address)?.action === 'replace'
  return new Map(begun.map(([address, action]) => [address, isReplaced(address) ? 'replace' : action]))
}

const CHANGES: ReadonlySet<string> = new Set(['create', 'replace', 'update'])
const MAKES: ReadonlySet<string> = new Set(['create', 'replace'])

/** What the record is to name: `begun`, and what the plan makes beyond that. */
export function toInFlight(
  origin: Pick<InFlight, 'run' | 'mark' | 'boot'>,
  begun: ReadonlyMap<string, string>,
  { planned, finished }: Pick<Progress, 'planned' | 'finished'>,
): InFlight {
  const isToCome = ({ address, action }: PlannedChange) =>
    MAKES.has(action) && !begun.has(address) && finished.get(address) !== 'create'
  const toCome = [...planned.values()].filter(isToCome).map(({ address, action }) => [address, action] as const)
  const all: readonly Doubt[] = [
    ...sorted(begun).map(([address, action]) => ({ address, action })),
    ...sorted(toCome).map(([address, action]) => ({ address, action, unconfirmed: true as const })),
  ]
  return { ...origin, addresses: all.slice(0, MOST_NAMED), more: Math.max(0, all.length - MOST_NAMED) }
}

/** Where the plan of an interrupted run is applied, that run's record names what it makes. */
export function onceMore(origin: Pick<InFlight, 'run' | 'mark' | 'boot'>, before: InFlight | undefined): InFlight {
  const addresses = (before?.addresses ?? []).map((one) => ({ ...one, unconfirmed: true as const }))
  return { ...origin, addresses, more: before?.more ?? 0 }
}

export interface Evidence {
  /** Addresses in the state that holds. */
  readonly saved: ReadonlySet<string>
  /** By the messages in the work folder, where there are any. */
  readonly progress: Progress | undefined
  /** The messages are complete, and those of the Terraform that the record speaks of. */
  readonly isComplete: boolean
}

/** What an interrupted run leaves in doubt: by the messages of its Terraform, and where these are lost, by the record. */
export function suspectsAfter(
  inFlight: InFlight | undefined,
  { saved, progress, isComplete }: Evidence,
  runId: string,
): readonly Suspect[] {
  const reported = progress ? toSuspects(begunAddresses(progress, saved), runId) : []
  const isSettled = ({ address, action, unconfirmed }: Doubt) =>
    // One that was seen at work may be half made although the state has it: its provisioners run after that.
    (unconfirmed && (isComplete || (action === 'create' && saved.has(address)))) ||
    // A state that was saved elsewhere is not known; what the messages report as done is.
    progress?.finished.has(address) ||
    reported.some((one) => one.address === address)
  const recorded = (inFlight?.addresses ?? []).filter((one) => !isSettled(one))
  return [...reported, ...recorded.map((one) => ({ ...one, run: inFlight!.run }))]
}

export interface TerraformEnd {
  /** Addresses in the state that is saved. */
  readonly saved: ReadonlySet<string>
  /** `killed`: it had no time to write what it had made into the state. `state-lost`: it wrote that where nobody finds it. */
  readonly by: 'itself' | 'killed' | 'state-lost'
}

/**
 * Of a Terraform whose messages are known to the end. One that exits on a second signal leaves open what it had begun. The state
 * that is saved may have a resource as whole that failed after that: it was marked as tainted only in the state that is lost.
 */
export function suspectsAtEnd(progress: Progress, { saved, by }: TerraformEnd, run: string): readonly Suspect[] {
  const begun = begunAddresses(progress, by === 'itself' ? new Set(progress.finished.keys()) : saved)
  const failed = by === 'state-lost' ? [...progress.errored].filter(([, action]) => CHANGES.has(action)) : []
  return toSuspects(new Map([...failed, ...begun]), run)
}

function toSuspects(begun: ReadonlyMap<string, string>, run: string): readonly Suspect[] {
  return sorted(begun).map(([address, action]) => ({ address, action, run }))
}

/** What the record alone shows to have begun. */
export function suspectsInFlight(inFlight: InFlight | undefined): readonly Suspect[] {
  return (inFlight?.addresses ?? [])
    .filter(({ unconfirmed }) => !unconfirmed)
    .map((one) => ({ ...one, run: inFlight!.run }))
}

const sorted = (entries: Iterable<readonly [string, string]>) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
