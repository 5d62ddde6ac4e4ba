// argv in, exit code out: finds the command, reads its options, prints errors the way people can act on.
import { parseArgs } from 'node:util'
import { CaptError, isCaptError, messageOf } from '#lib'
import { type Arguments, type Command, EXIT, type Io } from './command.ts'
import { commandHelp, overview } from './help.ts'
import type { Entry } from './table.ts'

export async function run(argv: readonly string[], io: Io, commands: readonly Entry[]): Promise<number> {
  const words = argv.filter((word) => !word.startsWith('-'))
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
    return await command.run(readArguments(command, argv), io)
  } catch (error) {
    return report(error, io)
  }
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
    group.length > 0 ? `one of: ${group.map((entry) => entry.name).join(', ')}` : closest(words[0] ?? '', known)
  io.stderr.write(
    `error: there is no command "${words.slice(0, group.length > 0 ? 2 : 1).join(' ')}"\n  hint ${hint}\n`,
  )
  return EXIT.usage
}

function closest(word: string, commands: readonly Entry[]): string {
  const near = commands.filter((entry) => distance(entry.name.split(' ')[0]!, word) <= 2).map((entry) => entry.name)
  return near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'capt help lists the commands'
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]!
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
    if (!command.positionals && rest.length > 0) throw new TypeError(`Unexpected argument '${rest[0]}'`)
    return { values: values as Arguments['values'], positionals: rest }
  } catch (error) {
    throw new CaptError('CAPT_USAGE', messageOf(error).split('. ')[0]!, {
      hint: `capt ${command.name} --help`,
      cause: error,
    })
  }
}

/** Message, place, hint, code; exit 2 for wrong usage, 1 for everything else. */
export function report(error: unknown, io: Io): number {
  const code = isCaptError(error) ? error.code : 'CAPT_INTERNAL'
  io.stderr.write(`error: ${messageOf(error)}  ${code}\n`)
  if (isCaptError(error) && error.at) io.stderr.write(`  at   ${error.at}\n`)
  if (isCaptError(error) && error.hint) io.stderr.write(`  hint ${error.hint}\n`)
  if (!isCaptError(error) && io.env['CAPT_DEBUG'] && error instanceof Error) io.stderr.write(`${error.stack}\n`)
  return code === 'CAPT_USAGE' ? EXIT.usage : EXIT.failed
}
