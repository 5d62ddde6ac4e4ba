// One Terraform run, started by a manager in a process of its own. Everything it needs is in the folder and on the API
// server; nothing secret is in its arguments. It connects by itself: a runner starts often, so it loads no more than that.
import { statSync, writeSync } from 'node:fs'
import { onWriteError, openMounted, readHandover, runOnce } from '#engine'
import { type Connection, connect, isKubeError, loadKubeconfig, type Objects } from '#kube'
import { CaptError, type Log, type LogKeys, redact } from '#lib'
import { type Command, EXIT, type Io } from '../../command.ts'

export const command: Command = {
  name: 'runner',
  summary: 'Do one Terraform run; managers start it, people need not',
  examples: {
    'runner --folder DIR --kubeconfig FILE': 'Do, or resume, the run that DIR describes',
    'runner --run /run/capt --folder DIR': 'Do the run that the pod of a Job mounts',
  },
  options: {
    folder: { type: 'string', value: 'DIR', about: 'Work folder of the workspace.' },
    kubeconfig: { type: 'string', value: 'FILE', about: 'Kubeconfig of the API server that has the record.' },
    run: { type: 'string', value: 'DIR', about: "The run's Secret, as the pod of its Job mounts it." },
    handover: { type: 'boolean', about: 'Read from standard input what the manager has prepared for the run.' },
  },
  onSignal: 'finishes',
  async run(args, io) {
    const { folder, kubeconfig, run } = args.values
    if (typeof folder !== 'string') {
      throw new CaptError('CAPT_USAGE', 'runner needs --folder', { hint: 'managers start it; see capt up' })
    }
    process.umask(0o077)
    const { clock, signal: stop } = io
    // Terraform inherits ours as it is.
    const env = { ...io.env }
    const mounted = typeof run === 'string' ? await openMounted(run, folder, env) : undefined
    const file = mounted?.kubeconfig ?? (typeof kubeconfig === 'string' ? kubeconfig : undefined)
    let opened: Promise<Connection> | undefined
    let readAt = 0
    const open = async () => {
      readAt = changedAt(file)
      const access = await loadKubeconfig({ ...(file === undefined ? {} : { path: file }), env, clock })
      // One authority is trusted, so the store of all others need not be read: that takes longer than the handshake.
      if (access.ca !== undefined) process.env['SSL_CERT_FILE'] = '/dev/null'
      return connect(access, { clock, fieldManager: 'capt', userAgent: 'capt-runner' })
    }
    const connection = () => {
      opened ??= open()
      return opened
    }
    // A home that was started again may have another port or token: its kubeconfig says so.
    const onFailure = (error: unknown) => {
      if (!isKubeError(error, 'Unreachable', 'Unauthorized') || changedAt(file) === readAt) return
      const before = opened
      opened = undefined
      void before?.then((connected) => connected.close(), ignore)
    }
    const handover = args.values['handover'] === true ? await readHandover() : undefined
    // After this iteration of the event loop Terraform is at work, and behind it a connection costs nothing.
    if (handover?.isLocked) setImmediate(() => void connection().then(({ client }) => client.raw('/version'), ignore))
    try {
      const end = await runOnce(folder, {
        objects: mounted ? mounted.limit(lateObjects(connection, onFailure)) : lateObjects(connection, onFailure),
        clock,
        log: logTo(io),
        env,
        stop,
        canReturn: () => file === undefined || changedAt(file) > 0,
        handover,
      })
      return end === 'unsaved' ? EXIT.failed : EXIT.fine
    } finally {
      await (await opened)?.close()
    }
  },
}

/** The next user of the connection gets the error. */
const ignore = () => undefined

/** When the file was last written; 0 when it is not there. */
function changedAt(file: string | undefined): number {
  return file === undefined ? 1 : (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
}

/** Objects of a connection that is opened when it is first needed, and opened again when its address has changed. */
function lateObjects(connection: () => Promise<Connection>, onFailure: (error: unknown) => void): Objects {
  async function ask<T>(work: (objects: Objects) => Promise<T>): Promise<T> {
    try {
      return await work((await connection()).objects)
    } catch (error) {
      onFailure(error)
      throw error
    }
  }
  return {
    get: (...args) => ask((objects) => objects.get(...args)),
    async *list(kind, options) {
      yield* (await connection()).objects.list(kind, options)
    },
    create: (...args) => ask((objects) => objects.create(...args)),
    replace: (...args) => ask((objects) => objects.replace(...args)),
    patch: (...args) => ask((objects) => objects.patch(...args)),
    apply: (...args) => ask((objects) => objects.apply(...args)),
    delete: (...args) => ask((objects) => objects.delete(...args)),
  }
}

function logTo(io: Io, bound: LogKeys = {}): Log {
  const write = (level: string) => (message: string, keys?: LogKeys) => {
    const time = new Date(io.clock.now()).toISOString()
    const line = `${redact(JSON.stringify({ level, time, ...bound, ...keys, message }))}\n`
    try {
      // Past the stream, which would end the process when the disk of its file is full.
      writeSync(2, line)
    } catch (error) {
      onWriteError(error)
    }
  }
  return {
    debug: () => undefined,
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (keys) => logTo(io, { ...bound, ...keys }),
  }
}
