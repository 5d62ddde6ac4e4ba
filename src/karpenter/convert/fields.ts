// Reads fields of objects people wrote: asks for the shape instead of assuming it, and reports what it does not know,
// because a field that vanishes in silence is how a migration loses a setting.
import { isPlainObject } from '#lib'
import type { Note } from './finding.ts'

export type Fields = Readonly<Record<string, unknown>>

export function mapAt(fields: Fields, key: string, note: Note, path = key): Fields | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  if (isPlainObject(value)) return value
  note('refused', 'CAPT_CONVERT_INVALID', path, 'must be a map')
  return undefined
}

export function listAt(fields: Fields, key: string, note: Note, path = key): readonly Fields[] | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  if (Array.isArray(value) && value.every(isPlainObject)) return value
  note('refused', 'CAPT_CONVERT_INVALID', path, 'must be a list of maps')
  return undefined
}

export function stringsAt(fields: Fields, key: string, note: Note, path = key): Record<string, string> | undefined {
  const value = mapAt(fields, key, note, path)
  if (!value) return undefined
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (inner !== null && typeof inner === 'object')
        note('refused', 'CAPT_CONVERT_INVALID', `${path}.${name}`, 'must be a text')
      return [name, inner === null || inner === undefined ? '' : String(inner)]
    }),
  )
}

export function secondsAt(fields: Fields, key: string, note: Note): number | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
  note('refused', 'CAPT_CONVERT_INVALID', `spec.${key}`, 'must be a whole number of seconds')
  return undefined
}

/** Copies the fields named, in that order, and reports the others. `handled` are read elsewhere. */
export function pick(
  fields: Fields,
  copied: readonly string[],
  handled: readonly string[],
  note: Note,
  path: string,
): Record<string, unknown> {
  for (const key of Object.keys(fields)) {
    if (copied.includes(key) || handled.includes(key)) continue
    note(
      'person',
      'CAPT_CONVERT_FIELD_DROPPED',
      `${path}.${key}`,
      'is not a field capt knows and was left out',
      'decide whether v1 has a place for it',
    )
  }
  return Object.fromEntries(
    copied.filter((key) => fields[key] !== undefined && fields[key] !== null).map((key) => [key, fields[key]]),
  )
}

/** Whole hours or minutes where they fit: 2592000 is 720h. */
export function toDuration(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`
  if (seconds > 0 && seconds % 60 === 0) return `${seconds / 60}m`
  return `${seconds}s`
}
