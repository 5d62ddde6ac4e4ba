// Compares a text with a golden file; UPDATE=1 updates the file.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../cli/golden')

export function assertGolden(name: string, text: string): void {
  const file = join(FOLDER, `${name}.txt`)
  if (process.env['UPDATE']) writeFileSync(file, text)
  assert.equal(text, readFileSync(file, 'utf8'), `UPDATE=1 updates ${name}.txt`)
}
