// Shows which EKS, Flux and Karpenter versions go together, as of today.
import { eksRows, eksState, lineOf, matrix, type SupportState, versionsFor } from '#catalog'
import { renderTable } from '#view'
import { type Command, EXIT } from '../../command.ts'
import { OUTPUT_OPTION, outputOf, printData } from '../../output.ts'

export const command: Command = {
  name: 'matrix',
  summary: 'Show which versions of EKS, Flux and Karpenter fit together',
  examples: {
    matrix: 'Every EKS version, its support, and what runs on it',
    'matrix -o json': 'All rows with their sources and dates',
    'matrix check --kubernetes 1.35 --karpenter 1.14.1': 'Ask about one combination',
  },
  options: { output: { ...OUTPUT_OPTION.output, value: 'json|yaml|wide' } },
  async run(args, io) {
    const output = outputOf(args, ['json', 'yaml', 'wide'])
    if (output === 'json' || output === 'yaml') {
      await printData(matrix, output, io)
      return EXIT.fine
    }
    const today = new Date(io.clock.now()).toISOString().slice(0, 10)
    io.stdout.write(renderMatrix(today, output === 'wide'))
    return EXIT.fine
  },
}

function renderMatrix(today: string, wide: boolean): string {
  const head = ['KUBERNETES', 'EKS SUPPORT', 'FLUX', 'KARPENTER', ...(wide ? ['CHECKED', 'SOURCE'] : [])]
  const rows = eksRows().map((row) => [
    row.line,
    supportText(eksState(row.line, today), row),
    versionsFor('flux', row.line).join(', ') || '-',
    karpenterText(row.line),
    ...(wide ? [row.checked, row.source] : []),
  ])
  return renderTable(head, rows)
}

function supportText(
  state: SupportState,
  row: { readonly standardUntil: string; readonly extendedUntil: string },
): string {
  if (state === 'standard') return `standard until ${row.standardUntil}`
  if (state === 'extended') return `extended until ${row.extendedUntil}`
  return state === 'ended' ? `ended on ${row.extendedUntil}` : 'not released'
}

function karpenterText(kubernetes: string): string {
  const versions = versionsFor('karpenter', kubernetes)
  if (versions.length === 0) return '-'
  return versions.length === 1 ? versions[0]! : `${versions[0]}, from ${lineOf(versions.at(-1)!)} on`
}
