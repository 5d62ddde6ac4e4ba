// Branches as text: one line per fact, the tree on the left, the age on the right. Colour only marks state.
import { formatDuration } from '#lib'
import type { Branch, State } from './branch.ts'

export interface RenderOptions {
  readonly width: number
  readonly now: number
  /** Wraps a text in the colour of a state; identity off a terminal. */
  paint(state: State, text: string): string
}

export const plain: Pick<RenderOptions, 'paint'> = { paint: (_state, text) => text }

interface Line {
  readonly left: string
  readonly branch: Branch
}

export function renderTree(root: Branch, options: RenderOptions): string {
  const lines = flatten(root)
  const left = Math.min(60, Math.max(...lines.map((line) => line.left.length)) + 2)
  const word = Math.max(...lines.map((line) => line.branch.word.length)) + 2
  return lines.map((line) => renderLine(line, left, word, options)).join('\n') + '\n'
}

function flatten(root: Branch): Line[] {
  const lines: Line[] = [{ left: root.name, branch: root }]
  const walk = (branch: Branch, indent: string): void => {
    branch.children.forEach((child, i) => {
      const last = i === branch.children.length - 1
      lines.push({ left: `${indent}${last ? '└─' : '├─'} ${child.name}`, branch: child })
      walk(child, `${indent}${last ? '   ' : '│  '}`)
    })
  }
  walk(root, '')
  return lines
}

function renderLine(line: Line, left: number, word: number, options: RenderOptions): string {
  const { branch } = line
  const age = branch.since === undefined ? '' : formatDuration(options.now - Date.parse(branch.since))
  const room = Math.max(20, options.width - left - word - age.length - 2)
  const fact = branch.fact.length > room ? `${branch.fact.slice(0, room - 1)}…` : branch.fact
  const start = `${line.left.padEnd(left)}${options.paint(branch.state, branch.word)}${' '.repeat(word - branch.word.length)}`
  return `${start}${age === '' ? fact : fact.padEnd(room)}  ${age}`.trimEnd()
}

const STOP_HEADS = ['What happened', 'Why it stopped', 'What to do', 'Nothing is lost'] as const

/** The stops of a tree, deepest first, in the four sentences people need. */
export function renderStops(root: Branch, width: number): string {
  const stops: Branch[] = []
  const walk = (branch: Branch): void => {
    branch.children.forEach(walk)
    if (branch.stop) stops.push(branch)
  }
  walk(root)
  return stops
    .map(({ stop }) => {
      const texts = [stop!.what, stop!.why, stop!.todo, stop!.safe]
      return STOP_HEADS.map((head, i) => wrap(head.padEnd(16), texts[i]!, width)).join('\n')
    })
    .map((block) => `\n${block}\n`)
    .join('')
}

function wrap(head: string, text: string, width: number): string {
  const room = Math.max(30, width - head.length)
  const lines: string[] = ['']
  for (const word of text.replaceAll('\n', ' ').split(' ')) {
    const current = lines.at(-1)!
    if (current !== '' && current.length + 1 + word.length > room) lines.push(word)
    else lines[lines.length - 1] = current === '' ? word : `${current} ${word}`
  }
  return lines.map((line, i) => `${i === 0 ? head : ' '.repeat(head.length)}${line}`).join('\n')
}

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)))
  return [head, ...rows]
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('')
}
