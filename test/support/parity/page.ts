// docs/compatibility-embedded.md: what was compared, and every difference with its reason.
import { SECTIONS } from '../apiserver/parity.ts'
import { DIFFERENCES } from './differences.ts'

export function renderParityPage(): string {
  const steps = SECTIONS.flatMap(({ steps }) => steps.filter(({ realOnly }) => !realOnly))
  return `${[
    '# The embedded API and a kube-apiserver',
    '',
    'capt can run without a management cluster: then it serves the Kubernetes API itself, from one process with a local',
    'store. That API is held to kube-apiserver 1.33: the same requests are sent to both, and the answers are compared field',
    `by field. Uids, times and versions are masked, everything else counts. There are ${steps.length} requests in`,
    `${SECTIONS.length} sections: ${SECTIONS.map(({ title }) => title).join(', ')}.`,
    '',
    'This page is generated from the list that the comparison uses. `make test-real` fails when an answer differs in a way',
    'that is not written here, and when something written here no longer differs.',
    '',
    '| what | embedded | kube-apiserver | why | requests |',
    '| --- | --- | --- | --- | --- |',
    ...DIFFERENCES.map(({ name, title, ours, real, why, seen }) =>
      row([`<a id="${name}"></a>${title}`, ours, real, why, `${seen.length}`]),
    ),
    '',
    '## The requests that differ',
    '',
    ...DIFFERENCES.flatMap(({ title, seen }) => [`**${title}**`, '', ...seen.map((step) => `- ${step}`), '']),
  ]
    .join('\n')
    .trimEnd()}\n`
}

const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
