// Branches as text: one line per fact, the tree on the left, the age on the right. Colour only marks state.
import { formatDuration, oneLine, wrapWords } from '#lib'
import type { Branch, State } from './branch.ts'

export interface RenderOptions {
  readonly width: number
  /** Whether lines end at the width: on a terminal. Elsewhere nothing is broken, so that it can be searched. */
  readonly wraps: boolean
  readonly now: number
  /** Details of what is healthy too. */
  readonly isVerbose?: boolean
  /** Wraps a text in the colour of a state; identity off a terminal. */
  paint(state: State, text: string): string
}

export const plain: Pick<RenderOptions, 'paint'> = { paint: (_state, text) => text }

interface Line {
  readonly left: string
  /** The tree beside further lines of the same branch. */
  readonly below: string
  readonly branch: Branch
}

export function renderTree(root: Branch, options: RenderOptions): string {
  const lines = flatten(root)
  const widest = options.wraps ? 60 : Number.POSITIVE_INFINITY
  const left = Math.min(widest, Math.max(...lines.map((line) => line.left.length)) + 2)
  const word = Math.max(...lines.map((line) => line.branch.word.length)) + 2
  return lines.flatMap((line) => renderLine(line, left, word, options)).join('\n') + '\n'
}

function flatten(root: Branch): Line[] {
  const guide = (branch: Branch) => (branch.children.length > 0 ? '│' : '')
  const lines: Line[] = [{ left: root.name, below: guide(root), branch: root }]
  const walk = (branch: Branch, indent: string): void => {
    branch.children.forEach((child, i) => {
      const last = i === branch.children.length - 1
      const deeper = `${indent}${last ? '   ' : '│  '}`
      lines.push({ left: `${indent}${last ? '└─' : '├─'} ${child.name}`, below: deeper + guide(child), branch: child })
      walk(child, deeper)
    })
  }
  walk(root, '')
  return lines
}

/** A fact is never cut: it is wrapped on a terminal and written in one piece elsewhere. */
function renderLine(line: Line, left: number, word: number, options: RenderOptions): readonly string[] {
  const { branch } = line
  const age = branch.since === undefined ? '' : formatDuration(options.now - Date.parse(branch.since))
  const room = Math.max(20, options.width - left - word - age.length - 2)
  const fact = factOf(branch, options.isVerbose === true)
  const [first = '', ...more] = options.wraps ? wrapWords(fact, room) : [oneLine(fact)]
  const start = `${`${line.left}  `.padEnd(left)}${options.paint(branch.state, branch.word)}${' '.repeat(word - branch.word.length)}`
  const head = `${start}${age === '' ? first : first.padEnd(room)}  ${age}`.trimEnd()
  return [head, ...more.map((text) => `${line.below.padEnd(left + word)}${text}`)]
}

/** What is not ready because of something below it names that; the sentence itself is shown there. */
function factOf(branch: Branch, isVerbose: boolean): string {
  if (branch.state === 'ready') return [branch.fact, isVerbose ? branch.detail : undefined].filter(Boolean).join('; ')
  return causeOf(branch) ?? branch.label ?? branch.fact
}

function causeOf(branch: Branch): string | undefined {
  const causes = stopsIn({ ...branch, stop: undefined } as Branch)
  if (causes.length > 0) return `because of ${namesOf(causes)}`
  const open = deepestOpen(branch)
  return open && `waiting for ${open.name}`
}

/** The tree in which a sentence stands only where it belongs: what is above names that place. */
export function nameCauses(branch: Branch): Branch {
  const cause = branch.state === 'ready' ? undefined : causeOf(branch)
  return { ...branch, fact: cause ?? branch.fact, children: branch.children.map(nameCauses) }
}

function namesOf([first, ...more]: readonly Branch[]): string {
  return more.length === 0 ? first!.name : `${first!.name} and ${more.length} more`
}

function deepestOpen({ children }: Branch): Branch | undefined {
  const open = children.find(({ state }) => state === 'working') ?? children.find(({ state }) => state === 'waiting')
  return open && (deepestOpen(open) ?? open)
}

const STOP_HEADS = [
  'What happened',
  'Why',
  'Since',
  'Next attempt',
  'Deadline',
  'What to do',
  'Nothing is lost',
] as const

/** The stops of a tree, deepest first. What has a stop below it is not ready because of that one. */
export function renderStops(root: Branch, options: Pick<RenderOptions, 'width' | 'wraps' | 'now'>): string {
  const width = options.wraps ? options.width : Number.POSITIVE_INFINITY
  const stops = stopsIn(root)
  return stops
    .map(({ name, stop }) => {
      const { what, why, since, nextAttempt, deadline, todo, safe } = stop!
      const times = [since, nextAttempt].map((time) => time && relativeTime(time, options.now))
      const texts = [what, why, ...times, deadline, todo, safe]
      const rows = STOP_HEADS.flatMap((head, i) =>
        texts[i] === undefined ? [] : [wrap(head.padEnd(17), texts[i], width)],
      )
      return `\n${stops.length > 1 ? `${name}\n` : ''}${rows.join('\n')}\n`
    })
    .join('')
}

export function stopsIn(branch: Branch): readonly Branch[] {
  const below = branch.children.flatMap(stopsIn)
  return below.length > 0 || !branch.stop ? below : [branch]
}

/** `6m ago (2026-01-01T12:00:00Z)` */
function relativeTime(time: string, now: number): string {
  const ms = Date.parse(time) - now
  const distance = formatDuration(Math.abs(ms))
  return `${ms > 0 ? `in ${distance}` : `${distance} ago`} (${time})`
}

function wrap(head: string, text: string, width: number): string {
  const lines = wrapWords(text, Math.max(30, width - head.length))
  return lines.map((line, i) => `${i === 0 ? head : ' '.repeat(head.length)}${line}`).join('\n')
}

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const flat = rows.map((row) => row.map(oneLine))
  const widths = head.map((title, i) => Math.max(title.length, ...flat.map((row) => (row[i] ?? '').length)))
  return [head, ...flat]
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('')
}
