// A file in a data folder that says that it came from a backup: the first start prepares it, and every later one holds the
// first plan of each workspace until a person has approved it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CaptError, messageOf, parseJson, writeSecret } from '#lib'

export interface RestoreMark {
  /** When the backup was made. */
  readonly madeAt: string
  /** When it was restored. */
  readonly restoredAt: string
  /** What was live when the backup was made is not live any more. */
  readonly isPrepared: boolean
}

const MARK_FILE = 'restored.json'

/** Undefined in a folder that was never restored. */
export function readRestoreMark(folder: string): RestoreMark | undefined {
  const file = join(folder, MARK_FILE)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw unreadable(file, messageOf(error))
  }
  const mark = parseMark(text)
  if (!mark) throw unreadable(file, 'it is not what capt restore wrote')
  return mark
}

export function writeRestoreMark(folder: string, mark: RestoreMark): void {
  writeSecret(join(folder, MARK_FILE), `${JSON.stringify(mark)}\n`)
}

function parseMark(text: string): RestoreMark | undefined {
  try {
    const { madeAt, restoredAt, isPrepared } = parseJson(text) as unknown as RestoreMark
    return Number.isNaN(Date.parse(restoredAt)) ? undefined : { madeAt, restoredAt, isPrepared: isPrepared === true }
  } catch {
    return undefined
  }
}

/** Without it plans would be applied by themselves: the home does not start. */
function unreadable(file: string, why: string): CaptError {
  return new CaptError('CAPT_DATA_CORRUPT', `${file} is damaged: ${why}`, {
    hint: 'restore the backup into another folder; nothing was changed',
  })
}
