// What the demo shows: chapters, facts with their time, and what other commands print. The terminal and the transcript of
// --record get the same, each in its own width.
import picocolors from 'picocolors'
import { type Clock, formatDuration, wrapWords } from '#lib'
import type { RenderOptions, State } from '#view'
import type { Io } from '../command.ts'
import { painter } from '../output.ts'

const SILENT_MS = 10_000
const RECORDED_COLUMNS = 112
const SUBJECT = 15
const WORD = 16
/** Narrower than this, the terminal itself breaks the lines. */
const LEAST_ROOM = 24

export interface Fact {
  readonly subject: string
  readonly word: string
  readonly evidence: string
  /** Decides the colour of the word; `ready` when left out. */
  readonly state?: State
}

interface Typed {
  readonly run: string
  /** Why, as a comment of the shell. */
  readonly about?: string
}

export interface Screen {
  chapter(title: string, commands?: readonly Typed[]): void
  /** A command as a person would type it. */
  command(command: Typed): void
  fact(fact: Fact): void
  /** Text as it is. */
  text(text: string): void
  /** What a command would print, rendered for each width. */
  block(render: (options: RenderOptions) => string): void
  /** What is under way now; drawn again and again on a terminal, repeated now and then elsewhere. */
  live(text: string): void
  /** Removes the line that is drawn again. */
  clear(): void
  elapsedMs(): number
  /** Everything so far with its colours, when it is recorded. */
  transcript(): string
}

interface Output {
  write(text: string): void
  readonly columns: number
  readonly wraps: boolean
  readonly colour: boolean
}

export function createScreen(io: Pick<Io, 'stdout' | 'clock' | 'colour'>, isRecorded: boolean): Screen {
  const { stdout, clock, colour } = io
  const started = clock.monotonic()
  let recorded = ''
  const outputs: readonly Output[] = [
    { write: (text) => stdout.write(text), columns: stdout.columns, wraps: stdout.isTerminal, colour },
    ...(isRecorded
      ? [
          {
            write: (text: string) => {
              recorded += text
            },
            columns: RECORDED_COLUMNS,
            wraps: true,
            colour: true,
          },
        ]
      : []),
  ]
  let isDrawn = false
  let printedAt = started
  const elapsedMs = () => clock.monotonic() - started
  const clear = () => {
    if (isDrawn) stdout.write('\r\u001b[2K')
    isDrawn = false
  }
  const print = (textFor: (output: Output) => string) => {
    clear()
    for (const output of outputs) output.write(textFor(output))
    printedAt = clock.monotonic()
  }
  return {
    chapter(title, commands = []) {
      print((output) => {
        const { bold } = picocolors.createColors(output.colour)
        return `\n${bold(title)}\n${commands.map((command) => renderCommand(command, output)).join('')}`
      })
    },
    command: (command) => print((output) => renderCommand(command, output)),
    fact: (fact) => print((output) => renderFact(fact, elapsedMs(), output)),
    text: (text) => print(() => text),
    block: (render) => print((output) => render(optionsFor(output, clock))),
    live(text) {
      if (stdout.isTerminal) {
        clear()
        stdout.write(`${stampOf(elapsedMs())}${text}`.slice(0, stdout.columns - 1))
        isDrawn = true
      } else if (clock.monotonic() - printedAt >= SILENT_MS) {
        stdout.write(`${stampOf(elapsedMs())}${text.trimEnd()}\n`)
        printedAt = clock.monotonic()
      }
    },
    clear,
    elapsedMs,
    transcript: () => recorded,
  }
}

/** `  04.8  ` within the first minutes, `  3m12s ` later. */
export function stampOf(ms: number): string {
  const text = ms < 100_000 ? (ms / 1000).toFixed(1).padStart(4, '0') : formatDuration(ms)
  return `  ${text.padEnd(5)} `
}

export function renderFact(
  { subject, word, evidence, state = 'ready' }: Fact,
  elapsedMs: number,
  { columns, wraps, colour }: Omit<Output, 'write'>,
): string {
  const { dim } = picocolors.createColors(colour)
  const stamp = stampOf(elapsedMs)
  const left = stamp.length + SUBJECT + WORD + 2
  const room = columns - left
  const [first = '', ...more] = wraps && room >= LEAST_ROOM ? wrapWords(evidence, room) : [evidence]
  const head = `${subject.padEnd(SUBJECT)} ${painter(colour)(state, word)}${' '.repeat(Math.max(0, WORD - word.length))}`
  const lines = [`${dim(stamp)}${`${head} ${first}`.trimEnd()}`, ...more.map((text) => `${' '.repeat(left)}${text}`)]
  return `${lines.join('\n')}\n`
}

/** Lines that are too long are continued as a shell continues them; the comment is above the command then. */
export function renderCommand({ run, about }: Typed, { columns, wraps, colour }: Omit<Output, 'write'>): string {
  const { dim } = picocolors.createColors(colour)
  const whole = about === undefined ? `$ ${run}` : `$ ${run}   # ${about}`
  if (!wraps || whole.length + 2 <= columns) return `  ${dim(whole)}\n`
  // An option stays with its value.
  const joined = run.replace(/( --?[\w-]+) (?!-)/g, '$1\u0001')
  const wrapped = wrapWords(joined, Math.max(LEAST_ROOM, columns - 8))
  const [first = '', ...more] = wrapped.map((line) => line.replaceAll('\u0001', ' '))
  const continued = [`$ ${first}`, ...more.map((line) => `    ${line}`)]
  const lines = continued.map((line, i) => (i < more.length ? `${line} \\` : line))
  return [...(about === undefined ? [] : [`# ${about}`]), ...lines].map((line) => `  ${dim(line)}\n`).join('')
}

const optionsFor = ({ columns, wraps, colour }: Output, clock: Clock): RenderOptions => ({
  width: Math.min(columns, RECORDED_COLUMNS),
  wraps,
  now: clock.now(),
  paint: painter(colour),
})
