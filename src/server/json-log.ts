// The log as JSON lines on stderr. Written synchronously: the last line before a crash is the one that matters, and a
// worker thread would cost a second heap. The only file that knows pino.
import { type DestinationStream, destination, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import { type Log, type LogKeys, redact } from '#lib'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LeveledLog extends Log {
  /** For this log and every one made from it. */
  setLevel(level: LogLevel): void
}

export function jsonLog(options: { readonly level?: LogLevel; readonly to?: DestinationStream } = {}): LeveledLog {
  const settings: LoggerOptions = {
    level: options.level ?? 'info',
    base: null,
    messageKey: 'message',
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  }
  return new JsonLog(pino(settings, options.to ?? destination({ dest: 2, sync: true })), {})
}

/** Every turn of every object gets a log of its own: binding keys costs nothing until a line is written. */
class JsonLog implements LeveledLog {
  readonly #logger: Logger
  readonly #bound: LogKeys

  constructor(logger: Logger, bound: LogKeys) {
    this.#logger = logger
    this.#bound = bound
  }

  debug(message: string, keys?: LogKeys): void {
    this.#write('debug', message, keys)
  }
  info(message: string, keys?: LogKeys): void {
    this.#write('info', message, keys)
  }
  warn(message: string, keys?: LogKeys): void {
    this.#write('warn', message, keys)
  }
  error(message: string, keys?: LogKeys): void {
    this.#write('error', message, keys)
  }
  setLevel(level: LogLevel): void {
    this.#logger.level = level
  }
  with(keys: LogKeys): Log {
    return new JsonLog(this.#logger, { ...this.#bound, ...keys })
  }

  #write(level: LogLevel, message: string, keys: LogKeys | undefined): void {
    if (this.#logger.isLevelEnabled(level)) this.#logger[level](masked({ ...this.#bound, ...keys }), message)
  }
}

/** Only texts at the top level: everything else we log is made of names and numbers. */
function masked(keys: LogKeys): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(keys).map(([name, value]) => [name, typeof value === 'string' ? redact(value) : value]),
  )
}
