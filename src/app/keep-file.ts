// A file that holds the token of a home: written whole or not at all, and again whenever the token was replaced. The old
// token works on meanwhile, so a disk that is full for an hour locks nobody out.
import { existsSync, realpathSync } from 'node:fs'
import { type Clock, type Log, messageOf, type Timer, writeSecret } from '#lib'

interface KeepFileOptions {
  content(): string
  /** Calls the listener when the content is another one; returns how to end that. */
  onToken(listener: () => void): () => void
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

const RETRY_MS = 60_000

/** Throws when the first write fails; later ones are tried again. Returns what ends it. */
export function keepFile(file: string, { content, onToken, clock, log }: KeepFileOptions): () => void {
  // A link stays one: its target is replaced.
  const path = existsSync(file) ? realpathSync(file) : file
  let retry: Timer | undefined
  const write = (): void => writeSecret(path, content())
  const rewrite = (): void => {
    retry?.cancel()
    try {
      write()
    } catch (error) {
      log.error('The new token was not written; the old one works on', { file: path, error: messageOf(error) })
      retry = clock.after(RETRY_MS, rewrite)
    }
  }
  write()
  const end = onToken(rewrite)
  return () => {
    end()
    retry?.cancel()
  }
}
