// docs/compatibility.md out of the version matrix: what runs where, until when, and who said so.
import { eksRows, lineOf, type MatrixRow, matrix, type SupportRow, supportRows, versionsFor } from '#catalog'

export function renderCompatibilityPage(): string {
  return [
    '# Compatibility',
    '',
    "Which Kubernetes, Flux and Karpenter versions go together. `capt matrix` prints this with today's state of support,",
    '`capt matrix check` answers for one combination or one manifest, and capt asks the same table before it writes anything.',
    'This page is generated from `src/catalog/matrix/data.ts`; a test fails when rows contradict each other or a date has passed.',
    '',
    '## By Kubernetes version',
    '',
    '| Kubernetes | on EKS since | standard support until | extended support until | Flux | Karpenter |',
    '| --- | --- | --- | --- | --- | --- |',
    ...eksRows().map((row) => {
      const karpenter = versionsFor('karpenter', row.line)
      const range = karpenter.length > 0 ? `${lineOf(karpenter.at(-1)!)} to ${lineOf(karpenter[0]!)}` : 'none'
      const flux = versionsFor('flux', row.line).map(lineOf).join(', ') || 'none'
      return `| ${row.line} | ${row.released} | ${row.standardUntil} | ${row.extendedUntil} | ${flux} | ${range} |`
    }),
    '',
    '## Flux',
    '',
    ...supportTable(supportRows('flux')),
    '',
    '## Karpenter',
    '',
    'Lines that capt does not install are kept because people come from them: `capt karpenter convert` reads their objects.',
    '',
    ...supportTable(supportRows('karpenter')),
    '',
    'Never jump from an alpha version (up to 0.31) beyond 0.32, nor from a beta version (0.32 to 0.37) beyond 1.0: the objects',
    'must be converted and the nodes rolled while both APIs are served. Raise IAM and CRDs before the controller.',
    '',
    '## Sources',
    '',
    ...sources(matrix),
    '',
  ].join('\n')
}

function supportTable(rows: readonly SupportRow[]): string[] {
  return [
    '| version | newest known | Kubernetes | capt installs it |',
    '| --- | --- | --- | --- |',
    ...rows.map((row) => {
      const avoid = Object.entries(row.avoid ?? {}).map(([version, why]) => `, not ${version} (${why})`)
      const name = row.from ? `${row.line} from ${row.from}` : row.line
      return `| ${name} | ${row.newest}${avoid.join('')} | ${row.kubernetes.min} to ${row.kubernetes.max} | ${row.installable ? 'yes' : 'no'} |`
    }),
  ]
}

function sources(rows: readonly MatrixRow[]): string[] {
  const lines = rows.map((row) => `- ${row.component}: <${row.source}>, read on ${row.checked}`)
  return [...new Set(lines)]
}
