// A command as a call: what it printed and how it ended.

import { openSession } from '#kube'
import { type Clock, systemClock } from '#lib'
import { COMMANDS, type Io, run } from '../../src/cli/index.ts'

export interface Printed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export async function capt(
  argv: readonly string[],
  options: {
    readonly stdin?: string
    readonly env?: Record<string, string>
    readonly cwd?: string
    readonly terminal?: boolean
    readonly clock?: Clock
    /** Called at everything that is printed. */
    readonly onWrite?: () => void
    /** Ctrl-C as soon as this was printed. */
    readonly interruptAfter?: RegExp
  } = {},
): Promise<Printed> {
  const out: string[] = []
  const err: string[] = []
  const interrupt = new AbortController()
  const sink = (to: string[]) => ({
    write: (text: string) => {
      to.push(text)
      options.onWrite?.()
      if (options.interruptAfter?.test(text)) interrupt.abort('SIGINT')
    },
    isTerminal: options.terminal === true,
    columns: 110,
  })
  const env = options.env ?? {}
  const io: Io = {
    stdout: sink(out),
    stderr: sink(err),
    stdin: (async function* () {
      if (options.stdin !== undefined) yield Buffer.from(options.stdin)
    })(),
    env,
    cwd: options.cwd ?? process.cwd(),
    clock: options.clock ?? systemClock,
    signal: interrupt.signal,
    colour: false,
    connect: (options) => openSession(options, env),
  }
  const code = await run(argv, io, COMMANDS)
  return { code, stdout: out.join(''), stderr: err.join('') }
}
