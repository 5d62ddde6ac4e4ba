// Writes root modules into a folder that is empty or not there yet: all of them, or none. Only their owner can read them.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CaptError, messageOf } from '#lib'
import type { RootModule } from './root-module.ts'

/** Refuses a folder that something would be overwritten in. */
export function refuseTaken(folder: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw taken(`${folder} is a file`)
  if (readdirSync(folder).length > 0) throw taken(`${folder} is not empty`)
}

/** `modules` by the name of their folder; `page` is the one for all of them. */
export function writeFolders(folder: string, modules: ReadonlyMap<string, RootModule>, page: string): void {
  mkdirSync(dirname(folder), { recursive: true })
  const draft = mkdtempSync(join(dirname(folder), `.${basename(folder)}-`))
  try {
    for (const [name, { files }] of modules)
      for (const { path, mode, data } of files) {
        const target = join(draft, name, path)
        mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
        writeFileSync(target, data, { mode })
      }
    writeFileSync(join(draft, 'README.md'), page, { mode: 0o600 })
    refuseTaken(folder)
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (error instanceof CaptError) throw error
    throw new CaptError('CAPT_EJECT_REFUSED', `${folder} cannot be written: ${messageOf(error)}`, {
      hint: 'choose a folder that you may write to, with --to',
      cause: error,
    })
  }
}

function taken(message: string): CaptError {
  return new CaptError('CAPT_EJECT_REFUSED', message, {
    hint: 'name a folder that is empty or not there yet, with --to',
  })
}
