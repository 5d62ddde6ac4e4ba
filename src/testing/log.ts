// A log that keeps its lines, so that a test can say what an operator would have read.
import type { Log, LogKeys } from '#lib'

interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly keys: LogKeys
}

export interface CollectingLog extends Log {
  readonly lines: readonly LogLine[]
}

export function collectingLog(): CollectingLog {
  const lines: LogLine[] = []
  const logWith = (bound: LogKeys): CollectingLog => {
    const write =
      (level: LogLine['level']) =>
      (message: string, keys: LogKeys = {}): void =>
        void lines.push({ level, message, keys: { ...bound, ...keys } })
    return {
      lines,
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      with: (keys) => logWith({ ...bound, ...keys }),
    }
  }
  return logWith({})
}
