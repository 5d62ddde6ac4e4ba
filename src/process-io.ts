// This process as commands see it: streams, signals, clock. Nothing heavy is loaded for it: runners start often.
import { type Clock, systemClock } from '#lib'
import type { Io, Sink } from './cli/command.ts'

export function processIo(connect: Io['connect']): Io {
  const stop = new AbortController()
  const urgent = new AbortController()
  let isUrgentAwaited = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (!stop.signal.aborted) return stop.abort(signal)
    if (isUrgentAwaited && !urgent.signal.aborted) return urgent.abort(signal)
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    stdout: sink(openStdout),
    stderr: sink(() => process.stderr),
    get stdin() {
      return process.stdin
    },
    env: process.env,
    cwd: process.cwd(),
    clock: foregroundClock,
    signal: stop.signal,
    get urgent() {
      isUrgentAwaited = true
      return urgent.signal
    },
    get colour() {
      return process.env['NO_COLOR'] === undefined && process.stdout.isTTY === true
    },
    connect,
  }
}

/** A person waits for a command, so its timers keep the process alive. */
const foregroundClock: Clock = {
  ...systemClock,
  after(delayMs, callback) {
    const handle = setTimeout(callback, Math.max(0, delayMs))
    return { cancel: () => clearTimeout(handle) }
  },
}

let isGuarded = false
function openStdout(): NodeJS.WriteStream {
  if (!isGuarded) {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0)
    })
  }
  isGuarded = true
  return process.stdout
}

/** Streams are made when they are used: a runner needs none of them. */
export function sink(open: () => NodeJS.WriteStream): Sink {
  return {
    write: (text) => void open().write(text),
    get isTerminal() {
      return open().isTTY === true
    },
    get columns() {
      // A terminal that nobody has given a size reports 0.
      return open().columns || 120
    },
  }
}
