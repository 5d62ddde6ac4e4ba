// What sets and deployments know of CAPTMachines: how far each is, and whose it is.
import { type AnyObject, type CAPTMachine, conditionOf, DELETE_MACHINE_ANNOTATION, isTrue } from '#api'
import { jsonEqual } from '#lib'
import { controllerOf } from '#runtime'
import { secondsLeft } from '../shared/deadline.ts'
import type { MachineFacts } from './replicas.ts'

export function toMachineFacts(machine: CAPTMachine, minReadySeconds: number, nowMs: number): MachineFacts {
  const { name, uid = '', creationTimestamp = '', deletionTimestamp, annotations = {} } = machine.metadata
  const isReady = isHealthy(machine)
  return {
    name,
    uid,
    createdAt: creationTimestamp,
    isDeleting: deletionTimestamp !== undefined,
    isFailed: isTrue(machine, 'Stalled'),
    isProvisioned: machine.status?.initialization?.provisioned === true,
    isReady,
    isAvailable: isReady && availableIn(machine, minReadySeconds, nowMs) === 0,
    isMarked: DELETE_MACHINE_ANNOTATION in annotations,
  }
}

function isHealthy(machine: CAPTMachine): boolean {
  return machine.metadata.deletionTimestamp === undefined && isTrue(machine, 'NodeHealthy')
}

/** Seconds until a healthy machine counts as available. */
function availableIn(machine: CAPTMachine, minReadySeconds: number, nowMs: number): number {
  return secondsLeft(conditionOf(machine, 'NodeHealthy')?.lastTransitionTime, minReadySeconds, nowMs)
}

/** When the next healthy machine becomes available; undefined when none is on its way. */
export function nextAvailable(
  machines: readonly CAPTMachine[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  const left = machines.filter(isHealthy).map((machine) => availableIn(machine, minReadySeconds, nowMs))
  const coming = left.filter((seconds) => seconds > 0)
  return coming.length === 0 ? undefined : Math.min(...coming)
}

/** Watch predicate: ignores what sets and deployments do not read of a machine, such as the progress of its run. */
export function isSameMachine(now: AnyObject, before: AnyObject): boolean {
  const relevant = (machine: CAPTMachine) => [
    machine.status?.initialization?.provisioned ?? false,
    ...['NodeHealthy', 'Stalled'].map((type) => conditionOf(machine, type) ?? null),
  ]
  return isSameSpec(now, before) && jsonEqual(relevant(now as CAPTMachine), relevant(before as CAPTMachine))
}

/** Watch predicate: ignores the status. */
export function isSameSpec(now: AnyObject, before: AnyObject): boolean {
  const relevant = ({ metadata }: AnyObject) => {
    const { generation, labels, annotations, ownerReferences, deletionTimestamp } = metadata
    return { generation, labels, annotations, ownerReferences, deletionTimestamp }
  }
  return jsonEqual(relevant(now), relevant(before))
}

/** The first machine that needs a person, in words. */
export function firstFailure(machines: readonly CAPTMachine[]): string | undefined {
  const failed = machines
    .filter((machine) => machine.metadata.deletionTimestamp === undefined && isTrue(machine, 'Stalled'))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  const [first] = failed
  if (!first) return undefined
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : ''
  return `CAPTMachine ${first.metadata.name}${more}: ${conditionOf(first, 'Stalled')?.message ?? ''}`
}

export function isControlledBy(object: AnyObject, owner: AnyObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid
}

/** As kubectl scale and autoscalers read it. */
export function selectorText(selector: {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[]
}): string {
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`)
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`
  })
  return [...labels.toSorted(), ...expressions].join(',')
}
