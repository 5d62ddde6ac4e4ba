// Everything that a command prints, also in a file, without what only a terminal needs.
import { appendFileSync } from 'node:fs'
import type { Io, Sink } from '../command.ts'

/** Lines that are drawn again and again on a terminal are left out. */
const DRAWN = /\r?\u001b\[2K[^\n]*(?=\r|$)/g
const STYLE = /\u001b\[[0-9;]*m/g

export function withTranscript(io: Io, file: string): Io {
  const tee = (sink: Sink): Sink => ({
    get isTerminal() {
      return sink.isTerminal
    },
    get columns() {
      return sink.columns
    },
    write(text) {
      sink.write(text)
      const kept = text.replace(STYLE, '').replace(DRAWN, '')
      if (kept.includes('\n')) appendFileSync(file, kept, { mode: 0o600 })
    },
  })
  return { ...io, stdout: tee(io.stdout), stderr: tee(io.stderr) }
}
