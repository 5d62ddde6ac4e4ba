// Tables of what every command prints: one line per form of a command, and which forms a command must have.

import type { Clock } from '#lib'
import { manualClock } from '#testing'
import { COMMANDS, type Command } from '../../../src/cli/index.ts'
import { capt } from '../cli-io.ts'

const FORMS = ['normal', 'wide', 'json', 'error'] as const
type Form = (typeof FORMS)[number]

/** A command line without `capt`; words with spaces are in single quotes. */
type Line = string | (RowOptions & { readonly line: string })

interface RowOptions {
  readonly stdin?: string
  readonly env?: Record<string, string>
  readonly terminal?: boolean
  readonly interruptAfter?: RegExp
  /** For what races a request against the clock: time stands still, and the request wins. */
  readonly stillTime?: boolean
}

type Forms = Readonly<Partial<Record<Form, readonly Line[]>>>

/** Command lines of some commands, by name and form. */
export type Table = Readonly<Record<string, Forms>>

/** Forms whose golden file is that of another test, because they take long or need more than an API server: that test. */
export type Elsewhere = Readonly<Record<string, Readonly<Partial<Record<Form, string>>>>>

/** `wide` and `json` are required where help offers them. */
export function formsOf({ options }: Command): readonly Form[] {
  const offered = options['output']?.short === 'o' ? `${options['output'].value} ${options['output'].about}` : ''
  return FORMS.filter((form) => form === 'normal' || form === 'error' || new RegExp(`\\b${form}\\b`).test(offered))
}

/** `NAME: FORM` for every form of a command that no table and no other test has. */
export async function missingForms(tables: readonly Table[], elsewhere: Elsewhere): Promise<readonly string[]> {
  const missing: string[] = []
  for (const entry of COMMANDS) {
    const { command } = await entry.load()
    for (const form of formsOf(command)) {
      const isHeld = tables.some((table) => (table[entry.name]?.[form] ?? []).length > 0)
      if (!isHeld && elsewhere[entry.name]?.[form] === undefined) missing.push(`${entry.name}: ${form}`)
    }
  }
  return missing
}

interface Around {
  readonly clock: () => Clock
  readonly env: Record<string, string>
  /** Stands for FOLDER in command lines. */
  readonly folder: string
  readonly cwd: string
  /** Makes text of this machine and this moment the same everywhere. */
  readonly steady: (text: string) => string
}

/** Every line of a table with what it printed: standard error is marked with `!`, the exit code closes it. */
export async function printTable(table: Table, around: Around): Promise<string> {
  const printed: string[] = []
  for (const forms of Object.values(table))
    for (const form of FORMS) for (const line of forms[form] ?? []) printed.push(await printLine(line, around))
  return printed.join('\n')
}

async function printLine(given: Line, { clock, env, folder, cwd, steady }: Around): Promise<string> {
  const {
    line,
    stillTime = false,
    ...options
  }: RowOptions & { line: string } = typeof given === 'string' ? { line: given } : given
  const argv = wordsOf(line).map((word) => word.replaceAll('FOLDER', folder))
  const { code, stdout, stderr } = await capt(argv, {
    clock: stillTime ? manualClock() : clock(),
    cwd,
    ...options,
    env: { ...env, ...options.env },
  })
  const errors = stderr
    .trimEnd()
    .replace(/^/gm, '! ')
    .replace(/^! $/gm, stderr.trim() === '' ? '' : '!')
  const out = stdout === '' || stdout.endsWith('\n') ? stdout : `${stdout}\n`
  return `$ capt ${line}\n${steady(out)}${errors === '' ? '' : `${steady(errors)}\n`}(${code})\n`
}

const wordsOf = (line: string): readonly string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
