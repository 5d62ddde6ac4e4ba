// Checks of an installation as text: one line each, what to do below those that failed.
import type { Check } from '#karpenter'
import type { Io } from '../command.ts'
import { renderOptions } from '../output.ts'

export function renderChecks(checks: readonly Check[], io: Io): string {
  const width = Math.max(...checks.map(({ name }) => name.length)) + 2
  const { paint } = renderOptions(io)
  return checks
    .map(({ name, isFine, fact, todo }) => {
      const line = `${name.padEnd(width)}${isFine ? paint('ready', 'fine  ') : paint('stalled', 'failed')}  ${fact}\n`
      return todo === undefined ? line : `${line}${' '.repeat(width + 8)}→ ${todo}\n`
    })
    .join('')
}
