// Runs a command the way the binary does, with streams and folder given by hand, and returns what it printed.
import { type Command, type Io, run } from '#cli'
import { manualClock } from '#testing'

export interface Printed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Around {
  readonly cwd?: string
  readonly stdin?: string
  /** Day on which the command runs. */
  readonly today?: string
}

export async function capt(command: Command, argv: readonly string[], around: Around = {}): Promise<Printed> {
  const texts = { stdout: '', stderr: '' }
  const sink = (name: keyof typeof texts) => ({
    write: (text: string) => {
      texts[name] += text
    },
    isTerminal: false,
    columns: 120,
  })
  const io: Io = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    stdin: (async function* () {
      yield Buffer.from(around.stdin ?? '')
    })(),
    env: {},
    cwd: around.cwd ?? import.meta.dirname,
    clock: manualClock(Date.parse(around.today ?? '2026-11-15')),
    signal: new AbortController().signal,
    colour: false,
    connect: () => Promise.reject(new Error('this command speaks to no cluster')),
  }
  const entry = { ...command, load: async () => ({ command }) }
  const code = await run([...command.name.split(' '), ...argv], io, [entry])
  return { code, ...texts }
}
