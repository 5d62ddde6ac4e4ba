// The columns `kubectl get` shows for every kind that does not say otherwise, and how ages are written.
import type { TableColumn } from '../kinds/resource.ts'
import type { ApiObject } from '../object.ts'

export const nameColumn: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique within its namespace.',
  priority: 0,
  cell: (object) => object.metadata.name,
}

export const ageColumn: TableColumn = {
  name: 'Age',
  type: 'string',
  description: 'Time since the object was created.',
  priority: 0,
  cell: (object, now) => ageCell(object.metadata.creationTimestamp, now),
}

export function column(
  name: string,
  cell: (object: ApiObject, now: number) => unknown,
  options: { type?: string; priority?: number } = {},
): TableColumn {
  return {
    name,
    type: options.type ?? 'string',
    description: `${name} of the object.`,
    priority: options.priority ?? 0,
    cell,
  }
}

export function ageCell(timestamp: unknown, now: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === '') return '<unknown>'
  const then = Date.parse(`${timestamp}`)
  return Number.isNaN(then) ? '<invalid>' : humanAge(now - then)
}

/** kubectl's own rounding: two units while they matter, one when they do not. */
export function humanAge(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`
  if (hours < 48) return `${hours}h`
  if (hours < 192) return hours % 24 === 0 ? `${hours / 24}d` : `${Math.floor(hours / 24)}d${hours % 24}h`
  if (hours < 24 * 365 * 2) return `${Math.floor(hours / 24)}d`
  const [years, days] = [Math.floor(hours / 24 / 365), Math.floor(hours / 24) % 365]
  if (hours < 24 * 365 * 8) return days === 0 ? `${years}y` : `${years}y${days}d`
  return `${years}y`
}
