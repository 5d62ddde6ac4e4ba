// The runner as a process of its own, for tests: the same command, without the rest of the program.
import { systemClock } from '#lib'
import { command } from '../../../src/cli/commands/run/runner.ts'

const stop = new AbortController()
process.on('SIGTERM', () => stop.abort('SIGTERM'))
const argv = process.argv.slice(3)
const option = (name: string) => argv[argv.indexOf(`--${name}`) + 1]!
const sink = { write: (text: string) => void process.stderr.write(text), isTerminal: false, columns: 120 }

process.exitCode = await command.run(
  {
    values: { folder: option('folder'), kubeconfig: option('kubeconfig'), handover: argv.includes('--handover') },
    positionals: [],
  },
  {
    stdout: sink,
    stderr: sink,
    get stdin() {
      return process.stdin
    },
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    signal: stop.signal,
    colour: false,
    connect: () => Promise.reject(new Error('a runner connects by itself')),
  },
)
process.exit()
