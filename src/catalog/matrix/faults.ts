// Checks the matrix itself: rows that contradict each other, and dates that passed without the row being marked.
// The test asks with today's date, so stale data turns the build red before it misleads anyone.

import { compareVersions, lineOf, parseVersion } from '../version.ts'
import type { EksRow, MatrixRow, SupportRow } from './data.ts'

const DAY_MS = 86_400_000
/** A row may be demoted this long before its date, so that nobody starts on a version that is about to go. */
const EARLY_DAYS = 30

export function contradictions(rows: readonly MatrixRow[]): string[] {
  const eks = rows.filter((row) => row.component === 'eks')
  const rest = rows.filter((row) => row.component !== 'eks')
  return [
    ...rows.flatMap(sourceFaults),
    ...eks.flatMap(eksFaults),
    ...rest.flatMap(rangeFaults),
    ...twins(rows),
    ...order(eks),
    ...shrinking(rest),
  ]
}

const nameOf = (row: MatrixRow) => `${row.component} ${row.component !== 'eks' && row.from ? row.from : row.line}`

function sourceFaults(row: MatrixRow): string[] {
  const faults: string[] = []
  if (!/^https:\/\//.test(row.source)) faults.push(`${nameOf(row)}: no source`)
  if (!isDay(row.checked)) faults.push(`${nameOf(row)}: no date`)
  if (!parseVersion(row.line)) faults.push(`${nameOf(row)}: not a version line`)
  return faults
}

function eksFaults(row: EksRow): string[] {
  const days = [row.released, row.standardUntil, row.extendedUntil]
  if (!days.every(isDay)) return [`${nameOf(row)}: a date is malformed`]
  return row.released < row.standardUntil && row.standardUntil < row.extendedUntil
    ? []
    : [`${nameOf(row)}: dates are out of order`]
}

function rangeFaults(row: SupportRow): string[] {
  const faults: string[] = []
  if (compareVersions(row.kubernetes.min, row.kubernetes.max) > 0)
    faults.push(`${nameOf(row)}: Kubernetes range is upside down`)
  if (lineOf(row.newest) !== row.line) faults.push(`${nameOf(row)}: ${row.newest} is not of this line`)
  if (row.from && compareVersions(row.from, row.newest) > 0)
    faults.push(`${nameOf(row)}: starts after its newest patch`)
  if (row.avoid?.[row.newest]) faults.push(`${nameOf(row)}: the newest patch is one to avoid`)
  return faults
}

function twins(rows: readonly MatrixRow[]): string[] {
  const seen = new Set<string>()
  return rows.flatMap((row) => {
    const name = nameOf(row)
    if (seen.has(name)) return [`${name}: two rows`]
    seen.add(name)
    return []
  })
}

/** A newer EKS version was released later and ends later. */
function order(rows: readonly EksRow[]): string[] {
  const sorted = [...rows].sort((a, b) => compareVersions(a.line, b.line))
  return sorted.slice(1).flatMap((row, i) => {
    const older = sorted[i]!
    const rising =
      row.released > older.released &&
      row.standardUntil > older.standardUntil &&
      row.extendedUntil > older.extendedUntil
    return rising ? [] : [`${nameOf(row)}: not later than ${nameOf(older)}`]
  })
}

/** A newer line never supports an older newest Kubernetes than the line before it. */
function shrinking(rows: readonly SupportRow[]): string[] {
  return (['flux', 'karpenter'] as const).flatMap((component) => {
    const sorted = rows.filter((row) => row.component === component).sort((a, b) => compareVersions(a.newest, b.newest))
    return sorted.slice(1).flatMap((row, i) => {
      const older = sorted[i]!
      const grows =
        compareVersions(row.kubernetes.max, older.kubernetes.max) >= 0 &&
        compareVersions(row.kubernetes.min, older.kubernetes.min) >= 0
      return grows ? [] : [`${nameOf(row)}: range shrinks against ${nameOf(older)}`]
    })
  })
}

/** EKS rows whose mark and date disagree on a day (YYYY-MM-DD). */
export function staleRows(rows: readonly MatrixRow[], today: string): string[] {
  const soon = new Date(Date.parse(today) + EARLY_DAYS * DAY_MS).toISOString().slice(0, 10)
  return rows
    .filter((row) => row.component === 'eks')
    .flatMap((row) => {
      if (row.extendedUntil < today && row.phase !== 'retired')
        return [`${nameOf(row)}: ended on ${row.extendedUntil} but is marked ${row.phase}`]
      if (row.standardUntil < today && row.phase === 'current')
        return [`${nameOf(row)}: left standard support on ${row.standardUntil} but is marked current`]
      if (row.extendedUntil > soon && row.phase === 'retired') return [`${nameOf(row)}: marked retired before its time`]
      if (row.standardUntil > soon && row.phase !== 'current')
        return [`${nameOf(row)}: marked ${row.phase} before its time`]
      return []
    })
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(text).toISOString().startsWith(text)
}
