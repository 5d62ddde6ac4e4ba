// Which clusters of the fleet are listed, and in which order. Pure.
import type { FleetRow, State } from '../messages.ts'

export type Group = 'attention' | 'progress' | 'ready' | 'other'
export type Order = 'attention' | 'name' | 'recent'

export interface Filter {
  readonly text: string
  /** Undefined: all of them. */
  readonly group?: Group
  readonly order: Order
}

const GROUP_OF: Readonly<Record<State, Group>> = {
  stalled: 'attention',
  working: 'progress',
  waiting: 'progress',
  deleting: 'progress',
  ready: 'ready',
  paused: 'other',
  unknown: 'other',
}
const GROUP_ORDER: readonly Group[] = ['attention', 'progress', 'other', 'ready']

/** A plan that waits needs a person, whatever else goes on; so does what failed. */
function groupOf({ plans, stops, state }: FleetRow): Group {
  if (plans > 0 || (stops > 0 && state !== 'paused' && state !== 'unknown')) return 'attention'
  return GROUP_OF[state]
}

export function countGroups(rows: Iterable<FleetRow>): Readonly<Record<Group, number>> {
  const counts = { attention: 0, progress: 0, ready: 0, other: 0 }
  for (const row of rows) counts[groupOf(row)]++
  return counts
}

/** Every word must occur somewhere in the row. */
export function selectRows(rows: Iterable<FleetRow>, { text, group, order }: Filter): readonly FleetRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = [...rows].filter((row) => {
    if (group !== undefined && groupOf(row) !== group) return false
    if (words.length === 0) return true
    const all = [row.id, row.word, row.state, row.fact, row.version, row.region].join(' ').toLowerCase()
    return words.every((word) => all.includes(word))
  })
  const byName = (a: FleetRow, b: FleetRow) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  if (order === 'name') return found.sort(byName)
  if (order === 'recent') return found.sort((a, b) => (b.since ?? '').localeCompare(a.since ?? '') || byName(a, b))
  const rank = (row: FleetRow) => GROUP_ORDER.indexOf(groupOf(row))
  return found.sort((a, b) => rank(a) - rank(b) || byName(a, b))
}
