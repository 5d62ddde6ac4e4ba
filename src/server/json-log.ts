// The log as JSON lines on stderr. Written synchronously: the last line before a crash is the one that matters, and a
// worker thread would cost a second heap. The only file that knows pino.
import { type DestinationStream, destination, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import { type Log, type LogKeys, redact } from '#lib'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export function jsonLog(options: { readonly level?: LogLevel; readonly to?: DestinationStream } = {}): Log {
  const settings: LoggerOptions = {
    level: options.level ?? 'info',
    base: null,
    messageKey: 'message',
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  }
  return toLog(pino(settings, options.to ?? destination({ dest: 2, sync: true })))
}

function toLog(logger: Logger): Log {
  const keysOf = (keys: LogKeys | undefined) => (keys ? masked(keys) : {})
  return {
    debug: (message, keys) => logger.debug(keysOf(keys), message),
    info: (message, keys) => logger.info(keysOf(keys), message),
    warn: (message, keys) => logger.warn(keysOf(keys), message),
    error: (message, keys) => logger.error(keysOf(keys), message),
    with: (keys) => toLog(logger.child(masked(keys))),
  }
}

/** Only texts at the top level: everything else we log is made of names and numbers. */
function masked(keys: LogKeys): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(keys).map(([name, value]) => [name, typeof value === 'string' ? redact(value) : value]),
  )
}
