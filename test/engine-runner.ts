// The runner as a process of its own, for tests: the same command, without the rest of the program.
import { connect, loadKubeconfig } from '#kube'
import { systemClock } from '#lib'
import { command } from '../src/cli/runner.ts'

const stop = new AbortController()
process.on('SIGTERM', () => stop.abort('SIGTERM'))
const argv = process.argv.slice(3)
const option = (name: string) => argv[argv.indexOf(`--${name}`) + 1]!
const sink = { write: (text: string) => void process.stderr.write(text), isTerminal: false, columns: 120 }

process.exitCode = await command.run(
  { values: { folder: option('folder'), kubeconfig: option('kubeconfig') }, positionals: [] },
  {
    stdout: sink,
    stderr: sink,
    stdin: process.stdin,
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    signal: stop.signal,
    colour: false,
    async connect({ kubeconfig }) {
      const { objects, close } = connect(await loadKubeconfig({ path: kubeconfig! }))
      return { objects, namespace: 'default', server: '', raw: async () => ({ status: 0, body: '' }), close }
    },
  },
)
process.exit()
