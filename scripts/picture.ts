// Draws a terminal transcript as SVG for the README:  bin/capt demo | node scripts/picture.ts > docs/demo.svg
import { text } from 'node:stream/consumers'

const CELL = 7.8
const LINE = 18
const PAD = 16
const COLOURS: readonly (readonly [RegExp, string])[] = [
  [/\b(ready|applied|healthy)\b(?= )/, '#7ee787'],
  [/\b(delivered|written|initialized|opened|terraform apply)\b/, '#79c0ff'],
  [/^ {2}\d\d\.\d/, '#8b949e'],
]

const toXml = (part: string) => part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const lines = (await text(process.stdin))
  .replaceAll(/\/tmp\/[^ /]+\/kubeconfig/g, 'demo/kubeconfig')
  .trimEnd()
  .split('\n')
  .map((line) => (line.length > 132 ? `${line.slice(0, 131)}…` : line))
const width = Math.ceil(Math.max(...lines.map((line) => line.length)) * CELL + 2 * PAD)
const height = lines.length * LINE + 2 * PAD

const rows = lines.map((line, i) => {
  const marks = COLOURS.flatMap(([pattern, colour]) => {
    const found = pattern.exec(line)
    return found ? [{ from: found.index, to: found.index + found[0].length, colour }] : []
  }).sort((a, b) => a.from - b.from)
  let at = 0
  let out = ''
  for (const { from, to, colour } of marks) {
    if (from < at) continue
    out += `${toXml(line.slice(at, from))}<tspan fill="${colour}">${toXml(line.slice(from, to))}</tspan>`
    at = to
  }
  return `<text x="${PAD}" y="${PAD + (i + 0.75) * LINE}" xml:space="preserve">${out}${toXml(line.slice(at))}</text>`
})

process.stdout.write(
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="capt demo">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">
${rows.join('\n')}
</g>
</svg>
`,
)
