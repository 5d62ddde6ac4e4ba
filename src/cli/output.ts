// How commands print: -o json|yaml, tables, colours, questions.
import picocolors from 'picocolors'
import { toYaml } from '#api'
import { CaptError } from '#lib'
import type { RenderOptions, State } from '#view'
import { type Arguments, EXIT, type Io, type Option } from './command.ts'

export const OUTPUT_OPTION = {
  output: { type: 'string', short: 'o', value: 'json|yaml', about: 'Print data instead of text for people.' },
} as const satisfies Record<string, Option>

type Output = 'json' | 'yaml' | 'wide' | undefined

export function outputOf(args: Arguments, allowed: readonly string[] = ['json', 'yaml']): Output {
  const { output } = args.values
  if (output === undefined) return undefined
  if (typeof output === 'string' && allowed.includes(output)) return output as Output
  throw new CaptError('CAPT_USAGE', `--output cannot be "${String(output)}"`, {
    hint: `one of: ${allowed.join(', ')}`,
  })
}

export async function printData(data: unknown, output: 'json' | 'yaml', io: Io): Promise<void> {
  if (output === 'json') return io.stdout.write(`${JSON.stringify(data, null, 2)}\n`)
  io.stdout.write(toYaml(data))
}

/** Colours a text by the state that it names. */
export function painter(isColoured: boolean): (state: State, text: string) => string {
  const colours = picocolors.createColors(isColoured)
  const byState: Record<State, (text: string) => string> = {
    ready: colours.green,
    working: colours.cyan,
    waiting: colours.yellow,
    stalled: colours.red,
    paused: colours.magenta,
    deleting: colours.yellow,
    unknown: colours.dim,
  }
  return (state, text) => byState[state](text)
}

/** Lines end at the width of a terminal; text for a pipe or a file is written whole. */
export function renderOptions(io: Io): RenderOptions {
  return { width: io.stdout.columns, wraps: io.stdout.isTerminal, now: io.clock.now(), paint: painter(io.colour) }
}

/** Of every command that asks with `confirm`. */
export const YES_OPTION = {
  yes: { type: 'boolean', short: 'y', about: 'Do not ask.' },
} as const satisfies Record<string, Option>

/** The last line of every dry run. */
export function endDryRun(io: Io): number {
  io.stderr.write('Nothing was changed\n')
  return EXIT.fine
}

/** Asks before something is destroyed; without a terminal the answer must come as --yes. */
export async function confirm(question: string, args: Arguments, io: Io): Promise<boolean> {
  if (args.values['yes'] === true) return true
  if (!io.stderr.isTerminal) {
    throw new CaptError('CAPT_USAGE', `Nobody is there to answer: ${question}`, {
      hint: 'add --yes to do it without the question',
    })
  }
  io.stderr.write(`${question} [y/N] `)
  for await (const chunk of io.stdin) {
    if (/^y(es)?\s*$/i.test(Buffer.from(chunk).toString('utf8'))) return true
    break
  }
  io.stderr.write('Nothing was changed\n')
  return false
}
