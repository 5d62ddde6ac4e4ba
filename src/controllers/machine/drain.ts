// The drain of a machine that has no core Machine: cordon, evict within the disruption budgets, and end in bounded time.
import { type Key, keyText } from '#api'
import { act, type Decision, waiting } from '#runtime'
import { secondsLeft } from '../shared/deadline.ts'
import type { Action } from './decide.ts'
import type { Observed } from './observe.ts'

/** How long a workload cluster that does not answer is waited for. */
export const UNREACHABLE_SECONDS = 120
const RETRY_SECONDS = 5
/** Pods that are named in the condition. */
const MOST_NAMED = 5

/** The last eviction of a machine. */
export interface DrainNote {
  readonly evictedAtMs: number
  /** Pods that a budget held back then. */
  readonly held: readonly string[]
}

/** Last evictions by machine, until the machine is gone. Lost with the process: pods are evicted once more then. */
export interface DrainLog {
  get(machine: Key): DrainNote | undefined
  set(machine: Key, note: DrainNote): void
  forget(machine: Key): void
}

export function createDrainLog(): DrainLog {
  const notes = new Map<string, DrainNote>()
  return {
    get: (machine) => notes.get(keyText(machine)),
    set: (machine, note) => void notes.set(keyText(machine), note),
    forget: (machine) => void notes.delete(keyText(machine)),
  }
}

/** Undefined when the instance may go. */
export function decideDrain(observed: Observed): Decision<Action> | undefined {
  const { object, cluster, node, facts, nowMs } = observed
  const { drainTimeoutSeconds: timeout } = object.spec
  if (observed.isUnderMachine || !cluster || cluster.deleting || timeout === 0) return undefined
  if (facts.deleting || facts.state.is === 'absent') return undefined
  const since = object.metadata.deletionTimestamp
  if (node.is === 'unreachable') {
    const left = secondsLeft(since, Math.min(timeout, UNREACHABLE_SECONDS), nowMs)
    const message = `Waiting for the workload cluster to answer, to drain the Node: ${node.message}`
    return left > 0 ? waiting('WorkloadUnreachable', message, Math.min(left, RETRY_SECONDS)) : undefined
  }
  if (node.is !== 'found') return undefined
  if (!node.isCordoned) return act({ do: 'cordon' })
  const left = secondsLeft(since, timeout, nowMs)
  if (node.pods.length === 0 || left === 0) return undefined
  const staying = node.pods.filter(({ isGoing }) => !isGoing)
  if (staying.length > 0 && isDue(observed)) return act({ do: 'evict', pods: staying })
  return waiting('Draining', drainText(observed), Math.min(left, RETRY_SECONDS))
}

function isDue({ drain, nowMs }: Observed): boolean {
  return drain === undefined || nowMs - drain.evictedAtMs >= RETRY_SECONDS * 1000
}

/** Pods that were left on the Node when the time was over. */
export function leftPods({ object, node, nowMs }: Observed): readonly string[] {
  const { deletionTimestamp } = object.metadata
  if (node.is !== 'found' || secondsLeft(deletionTimestamp, object.spec.drainTimeoutSeconds, nowMs) > 0) return []
  return node.pods.map(({ namespace, name }) => `${namespace}/${name}`)
}

function drainText({ node, drain }: Observed): string {
  if (node.is !== 'found') return ''
  const names = node.pods.map(({ namespace, name }) => `${namespace}/${name}`)
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
  const held = drain?.held.filter((name) => names.includes(name)) ?? []
  const budget = held.length > 0 ? `; a disruption budget holds ${held.slice(0, MOST_NAMED).join(', ')}` : ''
  return `Draining Node ${node.name}: ${names.length} ${names.length === 1 ? 'pod' : 'pods'} left (${names.slice(0, MOST_NAMED).join(', ')}${more})${budget}`
}
