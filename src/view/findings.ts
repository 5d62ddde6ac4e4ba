// What an examination found, as text: one section per object, the fact first, what to do below it, the age on the right.
import { formatDuration, wrapWords } from '#lib'
import type { RenderOptions } from './render.ts'

/** `person`: a person must look or act. `know`: it is so, and passes by itself or is as it should be. */
type Weight = 'person' | 'know'

export interface Finding {
  /** One word that names the kind of thing: suspect, lock, state, run, stalled, untracked, left, unknown. */
  readonly word: string
  readonly weight: Weight
  readonly what: string
  /** What to do next; empty when there is nothing. */
  readonly todo: string
  /** The command for it, printed in one piece so that it can be copied. */
  readonly command?: string
  /** RFC 3339. */
  readonly since?: string
}

export interface Examined {
  /** `WorkspaceTemplateApply/demo-vpc` */
  readonly name: string
  /** What was looked at: `9 resources, serial 14`. */
  readonly fact: string
  /** What to print when there is no finding; `nothing found` otherwise. */
  readonly fine?: string
  readonly findings: readonly Finding[]
}

const INDENT = '  '

export function renderFindings(examined: readonly Examined[], options: RenderOptions): string {
  const all = examined.flatMap(({ findings }) => findings)
  const word = Math.max(4, ...all.map((finding) => finding.word.length)) + 2
  const left = Math.max(0, ...examined.map(({ name }) => name.length)) + 2
  const sections = examined.map(({ name, fact, fine = 'nothing found', findings }) => {
    const healthy = findings.length === 0 ? options.paint('ready', fine) : ''
    const head = `${name.padEnd(left)}${[healthy, fact].filter(Boolean).join('   ')}`.trimEnd()
    return `${head}\n${findings.map((finding) => renderFinding(finding, word, options)).join('')}`
  })
  return `${sections.join('')}${sections.length > 0 ? '\n' : ''}${summarizeFindings(all)}\n`
}

function renderFinding(
  { word, weight, what, todo, command, since }: Finding,
  width: number,
  options: RenderOptions,
): string {
  const age = since === undefined ? '' : formatDuration(options.now - Date.parse(since))
  const margin = INDENT + ' '.repeat(width)
  const room = Math.max(40, options.width - margin.length - 6)
  const lineRoom = options.wraps ? room : Number.POSITIVE_INFINITY
  const [first = '', ...more] = wrapWords(what, lineRoom)
  const painted = options.paint(weight === 'person' ? 'stalled' : 'waiting', word)
  const head = `${INDENT}${painted}${' '.repeat(width - word.length)}${first.padEnd(room)}${age.padStart(6)}`.trimEnd()
  const lines = [head, ...more.map((line) => margin + line)]
  if (todo !== '')
    lines.push(...wrapWords(`→ ${todo}`, lineRoom).map((line, i) => `${margin}${i === 0 ? '' : INDENT}${line}`))
  if (command !== undefined) lines.push(`${margin}${INDENT}${command}`)
  return `${lines.join('\n')}\n`
}

function summarizeFindings(findings: readonly Finding[]): string {
  const count = (weight: Weight) => findings.filter((finding) => finding.weight === weight).length
  const [person, know] = [count('person'), count('know')]
  if (person + know === 0) return 'Nothing was found.'
  const needs =
    person === 0 ? 'Nothing needs a person' : `${person} ${person === 1 ? 'thing needs' : 'things need'} a person`
  return know === 0 ? `${needs}.` : `${needs}, ${know} to know.`
}
