// One Terraform run, started by a manager in a process of its own. Everything it needs is in the folder and on the API
// server; nothing secret is in its arguments. It connects by itself: a runner starts often, so it loads no more than that.
import { runOnce } from '#engine'
import { connect, loadKubeconfig } from '#kube'
import { CaptError, type Log, type LogKeys, redact } from '#lib'
import { type Command, EXIT, type Io } from './command.ts'

export const command: Command = {
  name: 'runner',
  summary: 'Do one Terraform run; managers start it, people need not',
  examples: [
    { run: 'runner --folder DIR --kubeconfig FILE', about: 'Do, or take up again, the run that DIR describes' },
  ],
  options: {
    folder: { type: 'string', value: 'DIR', about: 'Work folder of the workspace.' },
    kubeconfig: { type: 'string', value: 'FILE', about: 'Kubeconfig of the API server that has the record.' },
  },
  async run(args, io) {
    const { folder, kubeconfig } = args.values
    if (typeof folder !== 'string') {
      throw new CaptError('CAPT_USAGE', 'runner needs --folder', { hint: 'managers start it; see capt up' })
    }
    process.umask(0o077)
    const { clock, env, signal: stop } = io
    const access = await loadKubeconfig({ ...(typeof kubeconfig === 'string' ? { path: kubeconfig } : {}), env, clock })
    const { objects, close } = connect(access, { clock, fieldManager: 'capt', userAgent: 'capt-runner' })
    try {
      const end = await runOnce(folder, { objects, clock, log: logTo(io), env, stop })
      return end === 'unsaved' ? EXIT.failed : EXIT.fine
    } finally {
      await close()
    }
  },
}

function logTo(io: Io, bound: LogKeys = {}): Log {
  const write = (level: string) => (message: string, keys?: LogKeys) => {
    const time = new Date(io.clock.now()).toISOString()
    io.stderr.write(`${redact(JSON.stringify({ level, time, ...bound, ...keys, message }))}\n`)
  }
  return {
    debug: () => undefined,
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (keys) => logTo(io, { ...bound, ...keys }),
  }
}
