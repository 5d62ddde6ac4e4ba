// What an import makes of each object, as text for people.
import type { Assignment, Outcome } from '#import'
import { counted } from '#lib'

const WIDTH = 9

export function renderOutcomes(outcomes: readonly Outcome[], assignments: readonly Assignment[]): string {
  const needs = [...new Set(outcomes.flatMap((one) => one.needs))]
  return [
    ...outcomes.flatMap(outcomeLines),
    ...assignments.flatMap(stateLines),
    ...needs.map((need) => `${'to do'.padEnd(WIDTH)}${need}`),
    '',
  ].join('\n')
}

function outcomeLines({ subject, is, reason, hint, changes, objects }: Outcome): readonly string[] {
  const detail = (text: string): string => `${' '.repeat(WIDTH)}  ${text}`
  const head = `${is.padEnd(WIDTH)}${subject}${reason === undefined ? '' : `: ${reason}`}`
  if (is === 'refused') return [head, ...(hint === undefined ? [] : [detail(hint)])]
  const more =
    objects.length > 1
      ? [detail(`makes ${objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).join(', ')}`)]
      : []
  return [head, ...changes.map(({ path, what }) => detail(path === '' ? what : `${path}: ${what}`)), ...more]
}

function stateLines({ apply, state, refusal }: Assignment): readonly string[] {
  const { name } = apply.object.metadata
  if (refusal)
    return [`${'refused'.padEnd(WIDTH)}state of ${name}: ${refusal.reason}`, `${' '.repeat(WIDTH)}  ${refusal.hint}`]
  if (!state) return [`${'no state'.padEnd(WIDTH)}${name}: its first run makes everything`]
  const { serial, addresses } = state.info
  return [
    `${'state'.padEnd(WIDTH)}${name}: serial ${serial}, ${counted(addresses.length, 'resource')}, from Secret ${state.secret}`,
  ]
}
