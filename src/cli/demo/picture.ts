// Draws a transcript of the demo as SVG. Colours are those that the terminal would show.
import { stripVTControlCharacters } from 'node:util'

const CELL = 7.8
const LINE = 18
const PAD = 16

/** Colours of a terminal, by the code that begins them. */
const COLOURS: Readonly<Record<string, string>> = {
  '2': '#8b949e',
  '31': '#ff7b72',
  '32': '#7ee787',
  '33': '#e3b341',
  '35': '#d2a8ff',
  '36': '#79c0ff',
}
const BOLD = '1'
const ENDS = ['0', '22', '39']

export function drawTranscript(transcript: string, title: string): string {
  const lines = transcript.trim().split('\n')
  const width = Math.ceil(Math.max(...lines.map((line) => stripVTControlCharacters(line).length)) * CELL + 2 * PAD)
  const height = lines.length * LINE + 2 * PAD
  const rows = lines.map(
    (line, i) => `<text x="${PAD}" y="${PAD + (i + 0.75) * LINE}" xml:space="preserve">${drawLine(line)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${toXml(title)}">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">
${rows.join('\n')}
</g>
</svg>
`
}

function drawLine(line: string): string {
  let style = ''
  return line
    .split(/\u001b\[(\d+)m/)
    .map((part, i) => {
      if (i % 2 === 1) {
        style = ENDS.includes(part) ? '' : styleOf(part)
        return ''
      }
      if (part === '') return ''
      return style === '' ? toXml(part) : `<tspan ${style}>${toXml(part)}</tspan>`
    })
    .join('')
}

function styleOf(code: string): string {
  if (code === BOLD) return 'font-weight="bold"'
  const colour = COLOURS[code]
  return colour === undefined ? '' : `fill="${colour}"`
}

const toXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
