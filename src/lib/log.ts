// The log as a port. Modules write lines; the edge decides where they go (src/server: JSON on stderr).
export type LogKeys = Readonly<Record<string, unknown>>

/** A log line is a constant message plus keys. Capital first, no full stop, no secrets. */
export interface Log {
  debug(message: string, keys?: LogKeys): void
  info(message: string, keys?: LogKeys): void
  warn(message: string, keys?: LogKeys): void
  error(message: string, keys?: LogKeys): void
  with(keys: LogKeys): Log
}

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLog,
}
