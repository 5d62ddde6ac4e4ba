// docs/timeouts.md: the table of default timeouts.
import { formatDuration } from '#lib'
import { TIMEOUTS_BY_SECTION, type Timeout } from './timeouts.ts'

export function renderTimeoutsPage(): string {
  return [
    '# Default timeouts',
    '',
    'How long capt waits, what happens then, and which figure the default rests on. A field can be set for each object; a name in',
    'capitals is a constant of the program. This page is generated from the kinds, the constants and `scripts/timeouts.ts`.',
    '',
    'No cluster of capt has run in AWS yet, so none of these figures was measured by capt there. **documented**: by the',
    'maker of what is waited for. **reported**: measured by others in AWS, at the linked page. **chosen**: there is no figure, and the',
    'reason is given instead. `capt acceptance aws` writes the times of your own account into its report.',
    ...TIMEOUTS_BY_SECTION.flatMap(({ title, text, rows }) => ['', `## ${title}`, '', text, '', ...table(rows)]),
    '',
  ].join('\n')
}

const table = (rows: readonly Timeout[]): readonly string[] => [
  '| timeout | default | when it is over | rests on |',
  '| --- | --- | --- | --- |',
  ...rows.map(({ name, ms, end, figures }) => {
    const [kind, path] = name.split(': ')
    const words = path === undefined ? `\`${name}\`` : `${kind} \`${path}\``
    return `| ${words} | ${formatDuration(ms)} | ${end} | ${figures.map(([basis, text]) => `${basis}: ${text}`).join('; ')} |`
  }),
]
