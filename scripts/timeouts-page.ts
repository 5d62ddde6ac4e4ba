// docs/timeouts.md: the table of default timeouts.
import { formatDuration } from '#lib'
import { type Figure, MEASURED } from './timeout-figures.ts'
import { TIMEOUTS_BY_SECTION, type Timeout } from './timeouts.ts'

export function renderTimeoutsPage(): string {
  return [
    '# Default timeouts',
    '',
    'How long capt waits, what happens then, and which figure the default rests on. A field can be set for each object; a name in',
    'capitals is a constant of the program. This page is generated from the kinds, the constants and `scripts/timeouts.ts`.',
    '',
    'No cluster of capt has run in AWS yet. What only AWS can show therefore rests on a figure that others published, and the table says',
    'so; `capt acceptance aws` writes the times of your own account into its report. Each figure has its basis:',
    '',
    '- **measured**: by capt, on its own machine ([below](#measured)). It is the part of the wait that needs no AWS.',
    '- **published**: by the maker of what is waited for, or by people who measured it in AWS, at the linked page.',
    '- **chosen**: there is no figure, and the reason is given instead.',
    '',
    'The first figure is what the default rests on. `×` says how often a figure fits into the default.',
    ...TIMEOUTS_BY_SECTION.flatMap(({ title, text, rows }) => ['', `## ${title}`, '', text, '', ...table(rows)]),
    '',
    '## Measured',
    '',
    '`ROUNDS=2 node bench/waits.ts` with Terraform 1.11.4, kube-apiserver 1.33.13, Cluster API 1.14.2 and helm 3.19.5, on two cores that',
    'were busy with other work too (a load of 20 to 40). The longest of both rounds:',
    '',
    '| what | time |',
    '| --- | --- |',
    ...Object.entries(MEASURED).map(([what, seconds]) => `| ${what} | ${seconds} s |`),
    '',
    'Terraform ran the simulated twins of the templates, whose resources take no time, and pods did not run: what a node, an image, a load',
    'balancer or an API server of EKS takes is not in these figures.',
    '',
  ].join('\n')
}

const table = (rows: readonly Timeout[]): readonly string[] => [
  '| timeout | default | when it is over | basis | figures |',
  '| --- | --- | --- | --- | --- |',
  ...rows.map(({ name, ms, end, figures }) => {
    const [kind, path] = name.split(': ')
    const words = path === undefined ? `\`${name}\`` : `${kind} \`${path}\``
    const [{ basis }] = figures
    return `| ${words} | ${formatDuration(ms)} | ${end} | ${basis} | ${figures.map((one) => figureText(one, ms)).join('; ')} |`
  }),
]

function figureText({ basis, text, ms }: Figure, defaultMs: number): string {
  const time = basis === 'measured' && ms !== undefined ? ` (${ms / 1000} s)` : ''
  return `${basis}: ${text}${time}${ms === undefined ? '' : `, × ${Number((defaultMs / ms).toPrecision(2))}`}`
}
