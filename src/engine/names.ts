// Names of everything an engine keeps beside an apply. Readable, stable over a move to another cluster (no UID), and
// never ending in a digit: Terraform's kubernetes backend reads a trailing number as the index of a chunk.
import { MOVE_LABEL } from '#api'
import { shortHash } from '#lib'
import type { ObjectKey } from './workspace.ts'

/** Keeps state, bundle, record and used credentials while they are needed, above all in a terminating namespace. */
export const KEEP_FINALIZER = 'infrastructure.cluster.x-k8s.io/workspace-in-use'
/** Value: the suffix of the workspace. On every object an engine keeps. */
export const WORKSPACE_LABEL = 'capt.appthrust.com/workspace'
/** What an object is for: record, bundle, plan, state, backup, lock. */
export const PART_LABEL = 'capt.appthrust.com/part'

/** On the state Secret: what a record that is lost is rebuilt from. */
export const KEPT_ANNOTATION = 'capt.appthrust.com/kept'
/** On the state Secret: the run that writes to it, set when that run takes over from a lost runner. */
export const WRITER_ANNOTATION = 'capt.appthrust.com/writer'

/** Tag on every AWS resource that a run makes; value: the id of the workspace. */
export const WORKSPACE_TAG = 'capt-workspace'

export type Part = 'record' | 'bundle' | 'plan' | 'state' | 'backup' | 'lock'

const MAX_SUFFIX = 63

/** `<name>-<hash>`, at most 63 characters, so that it is a label value and a `secret_suffix` too. */
export function suffixOf({ namespace, name }: ObjectKey): string {
  const readable = name.replaceAll('.', '-').slice(0, MAX_SUFFIX - 9)
  return `${readable.replace(/-+$/, '')}-${shortHash(`${namespace}/${name}`)}`
}

/** Drift checks are runs of a workspace of their own beside that of the apply. No apply may have such a name. */
const CHECKS_SUFFIX = '.capt-drift'
export const checksKey = ({ namespace, name }: ObjectKey): ObjectKey => ({ namespace, name: `${name}${CHECKS_SUFFIX}` })
/** The apply of a workspace, also of that of its checks. */
export const applyOfChecks = <K extends { readonly name: string }>(key: K): K =>
  key.name.endsWith(CHECKS_SUFFIX) ? { ...key, name: key.name.slice(0, -CHECKS_SUFFIX.length) } : key

export const recordName = (suffix: string): string => `capt-run-${suffix}`
export const bundleName = (suffix: string, id: string, part: number): string => `capt-bundle-${suffix}-${id}-${part}`
export const planName = (suffix: string, id: string, part: number): string => `capt-plan-${suffix}-${id}-${part}`
export const backupName = (suffix: string, serial: number, part: number): string =>
  `capt-state-${suffix}-${serial}-${part}`
/** A copy that one run made for itself: two runs never write the same one. */
export const runCopyName = (suffix: string, serial: number, run: string, part: number): string =>
  `capt-state-${suffix}-${serial}-${run.slice(0, 8)}-${part}`
export const stateName = (suffix: string, part = 0): string =>
  part === 0 ? `tfstate-default-${suffix}` : `tfstate-default-${suffix}-part-${part}`
/** The Secrets of a state of so many parts. */
export const stateNames = (suffix: string, parts: number): readonly string[] =>
  Array.from({ length: parts }, (_, part) => stateName(suffix, part))
/**
 * Names that a run in a Job writes to. Its role lists them, so they are fixed: a name made from what is stored cannot be
 * listed beforehand. Each reference in the record names its slots.
 */
export const slotName = (suffix: string, slot: number): string => `capt-${suffix}-slot-${slot}`
/** Slots of the run that holds the lock, and of runs that lost it: the two never write to the same one. */
export const SLOTS = { held: 56, aside: 8 } as const
export const ALL_SLOTS: readonly number[] = Array.from({ length: SLOTS.held + SLOTS.aside }, (_, slot) => slot)
/** Parts of a state that a run in a Job may write, 900 KiB each. */
export const STATE_PARTS = 16
export const leaseName = (suffix: string): string => `lock-${stateName(suffix)}`
export const leaseKey = (key: ObjectKey): ObjectKey => ({ namespace: key.namespace, name: leaseName(suffixOf(key)) })
export const recordKey = (key: ObjectKey): ObjectKey => ({ namespace: key.namespace, name: recordName(suffixOf(key)) })

/** Labels of what we keep; the move label takes it along with `clusterctl move`. */
export function labelsOf(suffix: string, part: Part): Readonly<Record<string, string>> {
  return { [WORKSPACE_LABEL]: suffix, [PART_LABEL]: part, [MOVE_LABEL]: '' }
}
