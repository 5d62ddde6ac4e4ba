// Progress for people, on standard error: a line per fact with the time on the left, and what is under way below them. On
// a terminal the last line is drawn again and again; elsewhere it is repeated when nothing else was printed for a while.
import { formatDuration } from '#lib'
import type { Milestone } from '#view'
import type { Io } from '../command.ts'
import { hangingLine } from '../hanging-line.ts'

const SILENT_MS = 10_000

export interface Reporter {
  /** Printed once for each id. */
  milestone(milestone: Milestone): void
  /** A line that is printed when it differs from the last one about the same subject. */
  note(subject: string, text: string): void
  /** A line that is always printed. */
  line(text: string): void
  /** What is under way now; called at least every two seconds. */
  live(text: string): void
  elapsedMs(): number
  /** Removes the line that is drawn again. */
  close(): void
}

export function createReporter(io: Io): Reporter {
  const { stderr, clock } = io
  const started = clock.monotonic()
  const reported = new Set<string>()
  const notes = new Map<string, string>()
  let printedAt = started
  let isDrawn = false
  const elapsedMs = () => clock.monotonic() - started
  const erase = () => {
    if (isDrawn) stderr.write('\r\u001b[2K')
    isDrawn = false
  }
  const print = (text: string, head = '') => {
    erase()
    stderr.write(hangingLine(`${stamp(elapsedMs())}${head}`, text.replace(/\s*\n\s*/g, ' '), stderr))
    printedAt = clock.monotonic()
  }
  return {
    milestone({ id, subject, word, evidence }) {
      if (reported.has(id)) return
      reported.add(id)
      print(evidence, `${subject.padEnd(15)} ${word.padEnd(16)} `)
    },
    note(subject, text) {
      if (notes.get(subject) === text) return
      notes.set(subject, text)
      print(text, `${subject.padEnd(15)} `)
    },
    line: (text) => print(text),
    live(text) {
      if (stderr.isTerminal) {
        erase()
        stderr.write(`${stamp(elapsedMs())}${text}`.slice(0, stderr.columns - 1))
        isDrawn = true
      } else if (clock.monotonic() - printedAt >= SILENT_MS) print(text)
    },
    elapsedMs,
    close: erase,
  }
}

/** `  04.8  ` within the first minutes, `  12m   ` later. */
function stamp(ms: number): string {
  const text = ms < 100_000 ? (ms / 1000).toFixed(1).padStart(4, '0') : formatDuration(ms)
  return `  ${text.padEnd(5)} `
}
