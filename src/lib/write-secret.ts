// Writes a file that only its owner can read.
import { renameSync, writeFileSync } from 'node:fs'

/** Whole or not at all. */
export function writeSecret(file: string, content: string | Buffer): void {
  const draft = `${file}.new`
  writeFileSync(draft, content, { mode: 0o600, flush: true })
  renameSync(draft, file)
}
