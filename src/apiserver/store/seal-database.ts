// Brings a database and its key together: a new one is encrypted from the beginning, one of an earlier capt is encrypted
// when it is opened, and a key that is not the right one is refused before anything is read.
import type { DatabaseSync } from 'node:sqlite'
import { CaptError, isCaptError } from '#lib'
import { type Cipher, createCipher, isSealed } from './cipher.ts'

export interface KeySource {
  /** Undefined when there is none. */
  find(): Buffer | undefined
  /** Makes and keeps one. */
  make(): Buffer
  /** Where the key comes from, for messages: a path or a command. */
  readonly name: string
}

const CHECK_PLACE = ['check']
const CHECK_TEXT = 'capt'
/** The layout in which Secrets are encrypted and nothing of before is left in free pages. */
const SEALED_LAYOUT = 2

export function sealDatabase(database: DatabaseSync, file: string, source: KeySource): Cipher {
  database.exec('PRAGMA secure_delete = ON')
  database.exec('CREATE TABLE IF NOT EXISTS sealing (id INTEGER PRIMARY KEY CHECK (id = 1), proof TEXT NOT NULL)')
  const proof = (database.prepare('SELECT proof FROM sealing').get() as { proof: string } | undefined)?.proof
  const key = source.find() ?? (proof === undefined ? source.make() : undefined)
  if (!key) throw missing(file, source)
  const cipher = createCipher(key)
  if (proof !== undefined) checkKey(cipher, proof, file, source)
  const { user_version: layout } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (layout >= SEALED_LAYOUT) return cipher
  sealRows(database, cipher)
  // Deleted rows of before are still in free pages and in the journal.
  database.exec('VACUUM')
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.exec(`PRAGMA user_version = ${SEALED_LAYOUT}`)
  return cipher
}

function checkKey(cipher: Cipher, proof: string, file: string, source: KeySource): void {
  try {
    if (cipher.open(proof, CHECK_PLACE) === CHECK_TEXT) return
  } catch (error) {
    if (!isCaptError(error, 'CAPT_DATA_CORRUPT')) throw error
  }
  throw new CaptError('CAPT_DATA_KEY_WRONG', `The key from ${source.name} does not open ${file}`, {
    hint: 'use the key that the data folder was encrypted with; nothing was changed',
  })
}

function missing(file: string, source: KeySource): CaptError {
  return new CaptError('CAPT_DATA_KEY_MISSING', `${file} is encrypted and its key is not in ${source.name}`, {
    hint: 'put the key file back, or give the key with --data-key-command; without it the Secrets cannot be read',
  })
}

/** Where a Secret and a token belong, as the store names it. */
export const secretPlace = (realm: string, namespace: string, name: string) => [realm, 'secrets', namespace, name]
export const tokenPlace = (realm: string) => [realm, 'token']

function sealRows(database: DatabaseSync, cipher: Cipher): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const secrets = database
      .prepare("SELECT realm, namespace, name, body FROM objects WHERE grp = '' AND resource = 'secrets'")
      .all() as unknown as { realm: string; namespace: string; name: string; body: string }[]
    const write = database.prepare(
      "UPDATE objects SET body = ? WHERE realm = ? AND grp = '' AND resource = 'secrets' AND namespace = ? AND name = ?",
    )
    for (const { realm, namespace, name, body } of secrets) {
      if (!isSealed(body)) write.run(cipher.seal(body, secretPlace(realm, namespace, name)), realm, namespace, name)
    }
    const realms = database.prepare('SELECT path, token FROM realms').all() as unknown as {
      path: string
      token: string
    }[]
    const renew = database.prepare('UPDATE realms SET token = ? WHERE path = ?')
    for (const { path, token } of realms) if (!isSealed(token)) renew.run(cipher.seal(token, tokenPlace(path)), path)
    database
      .prepare('INSERT OR IGNORE INTO sealing (id, proof) VALUES (1, ?)')
      .run(cipher.seal(CHECK_TEXT, CHECK_PLACE))
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
