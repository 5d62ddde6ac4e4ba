// Whether the saved state is the one in the record: missing, older, of another lineage, or changed outside of capt.
import { isOpen, isUnreadable, type WorkspaceExam } from '#engine'
import type { Finding } from '#view'

export function stateFindings(name: string, exam: WorkspaceExam): readonly Finding[] {
  const findings = compareWithRecord(name, exam)
  if (findings.length > 0 || exam.holds?.is !== 'stalled') return findings
  const { message, hint } = exam.holds
  return [{ word: 'state', weight: 'person', what: message, todo: hint }]
}

function compareWithRecord(name: string, { state, record }: WorkspaceExam): readonly Finding[] {
  const found = (weight: Finding['weight'], what: string, todo: string): readonly Finding[] => [
    { word: 'state', weight, what, todo },
  ]
  const copies = `capt state list ${name} shows the copies; capt state restore ${name} decides which one holds`
  if (state.is === 'unreadable') return found('person', state.message, state.hint || copies)
  const known = record && !isUnreadable(record) ? record : undefined
  const saved = known?.state
  if (!saved || state.is === 'elsewhere') return []
  // While a run is on, the state is ahead of the record.
  const isRunning = isOpen(known.run)
  if (state.is === 'none')
    return saved.resources === 0
      ? []
      : found(
          'person',
          `gone: the record knows serial ${saved.serial} with ${saved.resources} resources`,
          `${copies}; capt forget ${name} --orphan-resources lets go of them`,
        )
  if (state.lineage !== saved.lineage)
    return found('person', `in conflict: its lineage is ${state.lineage}, the last run saved ${saved.lineage}`, copies)
  if (state.serial < saved.serial)
    return found(
      'person',
      `stale: serial ${state.serial} lies there, the last run saved serial ${saved.serial}`,
      copies,
    )
  if (state.serial > saved.serial && !isRunning)
    return found(
      'know',
      `ahead of the record: serial ${state.serial} lies there, the last run that ended saved serial ${saved.serial}; a run was killed, or other hands changed it`,
      `capt retry ${name} compares it with the template`,
    )
  return []
}
