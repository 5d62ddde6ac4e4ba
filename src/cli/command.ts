// A command is data plus one function. Streams, clock and connections come in by hand, so a test is a call.

import { APPROVAL_MODES } from '#api'
import type { Connected, SessionOptions } from '#kube'
import { CaptError, type Clock, parseDuration } from '#lib'

export interface Sink {
  write(text: string): void
  readonly isTerminal: boolean
  readonly columns: number
}

export interface Io {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly stdin: AsyncIterable<Uint8Array>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly clock: Clock
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal
  /** Aborted by the second of these signals. A command that does not read it ends at once then. */
  readonly urgent?: AbortSignal
  /** Colour and in-place progress are allowed. */
  readonly colour: boolean
  connect(options: SessionOptions): Promise<Connected>
}

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  readonly default?: string | boolean
  /** Placeholder of the value in help: FILE, NAME, DURATION. */
  readonly value?: string
  /** What is wrong with a value, as the hint of the refusal; undefined when it is fine. */
  readonly check?: (value: string) => string | undefined
  readonly about: string
}

export interface Arguments {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly positionals: readonly string[]
}

export interface Command {
  /** Words after `capt`: `describe`, `karpenter convert`. */
  readonly name: string
  /** One line, without a period at its end. */
  readonly summary: string
  /**
   * Positional arguments as help shows them: `KIND [NAME]`. The parser reads from it how many there may be: one per
   * word, the longest of alternatives that are set apart by ` | `, and any number with `...`.
   */
  readonly positionals?: string
  /** For programs: neither help nor the page of commands lists it. */
  readonly hidden?: boolean
  /** What follows `capt`, and what it does. Help shows these below the usage. */
  readonly examples: Readonly<Record<string, string>>
  readonly options: Readonly<Record<string, Option>>
  /**
   * Who must be waited for after Ctrl-C. `stops`: runs until it is stopped, and closes in order. `finishes`: ends what
   * it began, and its own exit code counts. All others are abandoned where they are.
   */
  readonly onSignal?: 'stops' | 'finishes'
  /** Returns the exit code: 0 fine, 1 failed, 2 wrong usage, 3 not ready when --wait ran out. */
  run(args: Arguments, io: Io): Promise<number>
}

export const EXIT = { fine: 0, failed: 1, usage: 2, notReady: 3, interrupted: 130, terminated: 143 } as const

/** Thrown by a command that was interrupted and has more to report than that. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

const ENGINES = ['terraform', 'tofu', 'simulated']

/** What --engine may be: a name that is looked up on the PATH, or a path. */
export const ENGINE_OPTION = {
  engine: {
    type: 'string',
    value: ENGINES.join('|'),
    about: 'What runs Terraform; what is on the PATH otherwise.',
    check: (value) =>
      ENGINES.includes(value) || value.includes('/')
        ? undefined
        : `one of: ${ENGINES.join(', ')}; or the path of a program, such as ./terraform`,
  },
} as const satisfies Record<string, Option>

/** Rules for plans that neither the apply nor its template decides. */
export const APPROVAL_OPTIONS = {
  approval: {
    type: 'string',
    value: 'Auto|Manual',
    about: 'Whether plans are applied by themselves where apply and template leave it open; Auto otherwise.',
    check: (value) =>
      APPROVAL_MODES.some((mode) => mode === value) ? undefined : `one of: ${APPROVAL_MODES.join(', ')}`,
  },
  'plan-expiry': {
    type: 'string',
    value: 'DURATION',
    about: 'How long a plan may be approved before it is made again; 1h otherwise.',
    check: (value) => (expiryOf(value) === undefined ? 'a duration from 5s to 24h, such as 30m' : undefined),
  },
} as const satisfies Record<string, Option>

function expiryOf(text: string): number | undefined {
  const seconds = Math.round((durationIn(text) ?? 0) / 1000)
  return seconds >= 5 && seconds <= 86_400 ? seconds : undefined
}

/** Milliseconds; undefined for a text that is no duration. */
export function durationIn(text: string): number | undefined {
  try {
    return parseDuration(text)
  } catch {
    return undefined
  }
}

export function approvalOf(values: Arguments['values']): {
  readonly mode?: 'Auto' | 'Manual'
  readonly expirySeconds?: number
} {
  const mode = APPROVAL_MODES.find((one) => one === values['approval'])
  const expiry = values['plan-expiry']
  const expirySeconds = typeof expiry === 'string' ? expiryOf(expiry) : undefined
  return { ...(mode ? { mode } : {}), ...(expirySeconds === undefined ? {} : { expirySeconds }) }
}

/** Every option whose value is a DURATION is checked before anything begins. */
const durationFault =
  ({ value }: Option) =>
  (text: string): string | undefined => {
    const isOff = text === 'false' && value === 'DURATION|false'
    return isOff || durationIn(text) !== undefined ? undefined : 'a duration such as 90s, 30m or 1h30m'
  }

export function checkValue(name: string, option: Option, value: unknown): void {
  const check = option.check ?? (/^DURATION\b/.test(option.value ?? '') ? durationFault(option) : undefined)
  for (const text of [value].flat()) {
    const hint = typeof text === 'string' ? check?.(text) : undefined
    if (hint !== undefined) throw new CaptError('CAPT_USAGE', `--${name} cannot be "${text}"`, { hint })
  }
}

/** Options of every command that connects to an API server. */
export const CONNECTION_OPTIONS = {
  kubeconfig: { type: 'string', value: 'FILE', about: 'Kubeconfig to use; $KUBECONFIG or ~/.kube/config otherwise.' },
  context: { type: 'string', value: 'NAME', about: "Context to use; the file's current one otherwise." },
  namespace: { type: 'string', short: 'n', value: 'NAME', about: "Namespace; the context's otherwise." },
} as const satisfies Record<string, Option>

/** `-f`, once for each file. */
export const filesOption = (about: string) =>
  ({ filename: { type: 'string', short: 'f', value: 'FILE', multiple: true, about } }) as const

export function connectionOf(args: Arguments): SessionOptions {
  const text = (name: string) => (typeof args.values[name] === 'string' ? (args.values[name] as string) : undefined)
  const given = { kubeconfig: text('kubeconfig'), context: text('context'), namespace: text('namespace') }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Connects as the options say, and closes the connection when the work has ended. */
export async function withConnection<T>(
  args: Arguments,
  io: Io,
  work: (connected: Connected) => Promise<T>,
): Promise<T> {
  const connected = await io.connect(connectionOf(args))
  try {
    return await work(connected)
  } finally {
    await connected.close()
  }
}
