// One Terraform run, started by a manager in a process of its own. Everything it needs is in the folder and on the API
// server; nothing secret is in its arguments. It connects by itself: a runner starts often, so it loads no more than that.
import { readHandover, runOnce } from '#engine'
import { type Connection, connect, loadKubeconfig, type Objects } from '#kube'
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
    settled: { type: 'boolean', about: 'Standard input tells what the manager has settled, and ends when it has.' },
  },
  onSignal: 'finishes',
  async run(args, io) {
    const { folder, kubeconfig } = args.values
    if (typeof folder !== 'string') {
      throw new CaptError('CAPT_USAGE', 'runner needs --folder', { hint: 'managers start it; see capt up' })
    }
    process.umask(0o077)
    const { clock, signal: stop } = io
    // Terraform inherits ours as it is.
    const env = { ...io.env }
    let opened: Promise<Connection> | undefined
    const open = async () => {
      const path = typeof kubeconfig === 'string' ? { path: kubeconfig } : {}
      const access = await loadKubeconfig({ ...path, env, clock })
      // One authority is trusted, so the store of all others need not be read: that takes longer than the handshake.
      if (access.ca !== undefined) process.env['SSL_CERT_FILE'] = '/dev/null'
      return connect(access, { clock, fieldManager: 'capt', userAgent: 'capt-runner' })
    }
    const connection = () => {
      opened ??= open()
      return opened
    }
    const handover = args.values['settled'] === true ? await readHandover() : undefined
    // When this turn is over Terraform is at work, and behind it a connection costs nothing.
    if (handover?.isLocked) setImmediate(() => void connection().then(({ client }) => client.raw('/version'), ignore))
    try {
      const end = await runOnce(folder, {
        objects: lateObjects(connection),
        clock,
        log: logTo(io),
        env,
        stop,
        handover,
      })
      return end === 'unsaved' ? EXIT.failed : EXIT.fine
    } finally {
      await (await opened)?.close()
    }
  },
}

/** Whoever needs the connection next hears of it. */
const ignore = () => undefined

/** Objects of a connection that is made when it is first needed. */
function lateObjects(connection: () => Promise<Connection>): Objects {
  const to = async () => (await connection()).objects
  return {
    get: async (...args) => (await to()).get(...args),
    async *list(kind, options) {
      yield* (await to()).list(kind, options)
    },
    create: async (...args) => (await to()).create(...args),
    replace: async (...args) => (await to()).replace(...args),
    patch: async (...args) => (await to()).patch(...args),
    apply: async (...args) => (await to()).apply(...args),
    delete: async (...args) => (await to()).delete(...args),
  }
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
