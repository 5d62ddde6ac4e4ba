// Makes a data folder from the content of a backup. Everything is checked in a folder of its own first; the database is moved
// to its place last, so that a folder is either a home or still to be restored.
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CaptError, messageOf, writeSecret } from '#lib'
import { diskFull, isDiskFull, openDatabase } from '../store/database.ts'
import { unpackFiles } from './container.ts'
import { type RestoreMark, writeRestoreMark } from './restore-mark.ts'
import { damaged } from './sealed-file.ts'

export const DATABASE = 'objects.db'
/** What a backup may hold; nothing else is ever written. */
export const BACKED_UP: readonly string[] = [DATABASE, 'authority.json', 'port', 'encryption.key']

/** `from` names the backup in errors. */
export function restoreFolder(path: string, content: Buffer, from: string, mark: RestoreMark): void {
  const files = unpackFiles(content)
  if (!files?.has(DATABASE) || [...files.keys()].some((name) => !BACKED_UP.includes(name))) throw damaged(from)
  const isThere = refuseUnlessEmpty(path)
  const made = isThere ? undefined : firstMissing(path)
  let staged: string | undefined
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    staged = mkdtempSync(join(path, '.restoring-'))
    for (const [name, bytes] of files) writeSecret(join(staged, name), bytes)
    writeRestoreMark(staged, mark)
    openDatabase(join(staged, DATABASE)).close()
    // The database is last: without it nothing starts here.
    const names = readdirSync(staged).sort((a, b) => Number(a === DATABASE) - Number(b === DATABASE))
    for (const name of names) renameSync(join(staged, name), join(path, name))
    rmSync(staged, { recursive: true })
  } catch (error) {
    if (staged !== undefined) rmSync(staged, { recursive: true, force: true })
    if (made !== undefined) rmSync(made, { recursive: true, force: true })
    if (isDiskFull(error)) throw diskFull(path, error)
    if (error instanceof CaptError) throw error
    throw unusable(path, messageOf(error), error)
  }
}

/** True when the folder is there. */
export function refuseUnlessEmpty(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return false
  if (!found.isDirectory()) throw unusable(path, 'it is a file')
  const names = readdirSync(path)
  if (names.length === 0) return true
  const what = names.includes(DATABASE) ? 'has a home in it' : `is not empty (${names.slice(0, 3).join(', ')})`
  throw new CaptError('CAPT_RESTORE_TARGET', `${path} ${what}: nothing is restored over it`, {
    hint: 'name a folder that does not exist yet; to replace this home, stop it and move its folder away first',
  })
}

/** The outermost folder that has to be made: removed again when the restore fails. */
function firstMissing(path: string): string {
  const parent = dirname(path)
  return parent === path || statSync(parent, { throwIfNoEntry: false }) ? path : firstMissing(parent)
}

const unusable = (path: string, why: string, cause?: unknown): CaptError =>
  new CaptError('CAPT_DATA_UNUSABLE', `${path} cannot be used as a data folder: ${why}`, {
    hint: 'choose a folder that you may write to',
    ...(cause === undefined ? {} : { cause }),
  })
