// argv in, exit code out: finds the command, reads its options, prints errors the way people can act on.
import { parseArgs } from 'node:util'
import { CaptError, closest, isCaptError, messageOf } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, checkValue, EXIT, Interrupted, type Io } from './command.ts'
import { hangingLine } from './hanging-line.ts'
import { commandHelp, type Entry, overview } from './help.ts'

export async function run(argv: readonly string[], io: Io, commands: readonly Entry[]): Promise<number> {
  const words = wordsOf(argv)
  if (argv.length === 0 || (words.length === 0 && isHelp(argv)) || words[0] === 'help') {
    const entry = words.length > 1 ? findEntry(words.slice(1), commands) : undefined
    io.stdout.write(entry ? commandHelp((await entry.load()).command) : overview(commands))
    return EXIT.fine
  }
  const entry = findEntry(words, commands)
  if (!entry) return refuseUnknown(words, commands, io)
  try {
    const { command } = await entry.load()
    if (isHelp(argv)) {
      io.stdout.write(commandHelp(command))
      return EXIT.fine
    }
    return await untilInterrupted(command, readArguments(command, argv), io)
  } catch (error) {
    return report(error, io)
  }
}

/** Time for an interrupted command to close what it opened and report where it stopped. */
const CLOSING_MS = 300

/** A request without an answer or a question without a reader must not keep an interrupted command. */
async function untilInterrupted(command: Command, args: Arguments, io: Io): Promise<number> {
  const { signal } = io
  const running = command.run(args, io)
  if (command.onSignal !== undefined) {
    if (command.onSignal === 'finishes') signal.addEventListener('abort', () => announceFinish(io), { once: true })
    const code = await running
    const wasInterrupted = command.onSignal === 'stops' && signal.reason === 'SIGINT'
    return wasInterrupted && code !== EXIT.failed ? reportInterrupt(undefined, io) : code
  }
  let stop: () => void = () => undefined
  const interrupted = new Promise<never>((_, reject) => {
    stop = () => void io.clock.after(CLOSING_MS, () => reject(new Interrupted()))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([running, interrupted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Words that may name a command: `--kubeconfig FILE` and its like may stand before it. */
function wordsOf(argv: readonly string[]): readonly string[] {
  const flags = Object.entries(CONNECTION_OPTIONS).flatMap(([name, option]) => [
    `--${name}`,
    ...('short' in option ? [`-${option.short}`] : []),
  ])
  return argv.filter((word, i) => !word.startsWith('-') && !flags.includes(argv[i - 1] ?? ''))
}

const isHelp = (argv: readonly string[]) => {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).some((word) => word === '--help' || word === '-h')
}

function findEntry(words: readonly string[], commands: readonly Entry[]): Entry | undefined {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ')
    const entry = commands.find((candidate) => candidate.name === name)
    if (entry && words.length >= length) return entry
  }
  return undefined
}

function refuseUnknown(words: readonly string[], commands: readonly Entry[], io: Io): number {
  const group = commands.filter((entry) => entry.name.startsWith(`${words[0]} `))
  const known = group.length > 0 ? group : commands
  const hint =
    group.length > 0 ? `one of: ${group.map((entry) => entry.name).join(', ')}` : suggest(words[0] ?? '', known)
  io.stderr.write(
    `error: there is no command "${words.slice(0, group.length > 0 ? 2 : 1).join(' ')}"\n  hint ${hint}\n`,
  )
  return EXIT.usage
}

function suggest(word: string, commands: readonly Entry[]): string {
  const meant = closest(word, new Set(commands.map(({ name }) => name.split(' ')[0]!)))
  return meant === undefined ? 'capt help lists the commands' : `did you mean ${meant}?`
}

export function readArguments(command: Command, argv: readonly string[]): Arguments {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, short, multiple, default: fallback }]) => [
      name,
      {
        type,
        ...(short ? { short } : {}),
        ...(multiple ? { multiple } : {}),
        ...(fallback === undefined ? {} : { default: fallback }),
      },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
    const rest = positionals.slice(command.name.split(' ').length)
    const surplus = rest[mostPositionals(command.positionals)]
    if (surplus !== undefined) throw new TypeError(`Unexpected argument '${surplus}'`)
    for (const [name, option] of Object.entries(command.options)) checkValue(name, option, values[name])
    return { values: values as Arguments['values'], positionals: rest }
  } catch (error) {
    if (isCaptError(error)) throw error
    throw new CaptError('CAPT_USAGE', messageOf(error).split('. ')[0]!, {
      hint: `capt ${command.name} --help`,
      cause: error,
    })
  }
}

/** How many positional arguments a usage such as `KIND [NAME]` allows. */
export function mostPositionals(usage: string | undefined): number {
  if (usage === undefined) return 0
  if (/\.\.\.|…/.test(usage)) return Number.POSITIVE_INFINITY
  return Math.max(...usage.split(' | ').map((alternative) => alternative.split(' ').length))
}

/** Message, place, hint, code; exit 2 for wrong usage, 130 after Ctrl-C, 1 for everything else. */
export function report(error: unknown, io: Io): number {
  if (io.signal.aborted && (error instanceof Interrupted || error === io.signal.reason || isAbort(error)))
    return reportInterrupt(error, io)
  const code = isCaptError(error) ? error.code : 'CAPT_INTERNAL'
  const write = (head: string, text: string) => io.stderr.write(hangingLine(head, text, io.stderr))
  write('error: ', `${messageOf(error)}  ${code}`)
  if (isCaptError(error) && error.at && !error.message.startsWith(error.at)) write('  at   ', error.at)
  if (isCaptError(error) && error.hint) write('  hint ', error.hint)
  if (!isCaptError(error) && io.env['CAPT_DEBUG'] && error instanceof Error) io.stderr.write(`${error.stack}\n`)
  return code === 'CAPT_USAGE' ? EXIT.usage : EXIT.failed
}

/** A second Ctrl-C ends the process at once. */
function announceFinish(io: Io): void {
  if (io.signal.reason === 'SIGINT')
    io.stderr.write('Interrupted: it ends what it began; Ctrl-C again stops it at once\n')
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

function reportInterrupt(error: unknown, io: Io): number {
  const isTerminated = io.signal.reason === 'SIGTERM'
  const more = error instanceof Interrupted && error.message !== '' ? `: ${error.message}` : ''
  io.stderr.write(`${isTerminated ? 'Terminated' : 'Interrupted'}${more}\n`)
  return isTerminated ? EXIT.terminated : EXIT.interrupted
}
