// A line whose text goes on below itself on a terminal, broken between words. Loaded with every command, so it needs nothing of the view.
import { wrapWords } from '#lib'
import type { Sink } from './command.ts'

const LEAST_ROOM = 24
const CONTINUATION = 10

/** Off a terminal the line is whole, and so is a text that has lines of its own. */
export function hangingLine(head: string, text: string, { isTerminal, columns }: Omit<Sink, 'write'>): string {
  const line = `${head}${text}`.trimEnd()
  if (!isTerminal || line.length <= columns || text.includes('\n')) return `${line}\n`
  const isBeside = columns - head.length >= LEAST_ROOM
  const indent = ' '.repeat(isBeside ? head.length : CONTINUATION)
  const lines = wrapWords(text, Math.max(LEAST_ROOM, columns - indent.length))
  return isBeside ? `${head}${lines.join(`\n${indent}`)}\n` : `${[head.trimEnd(), ...lines].join(`\n${indent}`)}\n`
}
