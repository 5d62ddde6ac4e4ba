// Opens the SQLite file that keeps everything, and says in people's words what is wrong when it cannot be used.
// An acknowledged write survives kill -9 and power loss: WAL with a sync before every answer. The exclusive lock is
// the operating system's, so it vanishes with the process that holds it: no stale lock file is ever in the way.
import { chmodSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { CaptError, messageOf } from '#lib'

/** 1: everything in the clear. 2: Secrets and tokens are encrypted (seal-database.ts raises it). */
const SCHEMA_VERSION = 2
const FIRST_VERSION = 1

const SCHEMA = `
CREATE TABLE counter (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
INSERT INTO counter VALUES (1, 1);
CREATE TABLE realms (path TEXT PRIMARY KEY, token TEXT NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE objects (
  realm TEXT NOT NULL, grp TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  uid TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (realm, grp, resource, namespace, name)
) WITHOUT ROWID;
CREATE INDEX objects_by_uid ON objects (realm, uid);
CREATE INDEX objects_by_namespace ON objects (realm, namespace);
CREATE TABLE owners (
  realm TEXT NOT NULL, owner TEXT NOT NULL, dependent TEXT NOT NULL,
  PRIMARY KEY (realm, owner, dependent)
) WITHOUT ROWID;
CREATE INDEX owners_by_dependent ON owners (realm, dependent);
PRAGMA user_version = ${FIRST_VERSION};
`

interface DatabaseOptions {
  /** For tests of a full disk: no more pages than this. */
  readonly maxPages?: number
}

export function openDatabase(file: string, options: DatabaseOptions = {}): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false })
    // SQLite gives the journal files the rights of the database, so one chmod protects all three.
    chmodSync(file, 0o600)
    database.exec('PRAGMA locking_mode = EXCLUSIVE')
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('PRAGMA synchronous = FULL')
    database.exec('BEGIN IMMEDIATE; COMMIT')
    checkIntegrity(database, file)
    prepareSchema(database, file)
    if (options.maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${Math.trunc(options.maxPages)}`)
    return database
  } catch (error) {
    database?.close()
    throw toCaptError(error, file)
  }
}

/** By SQLite's online backup: pages that are written meanwhile are copied again. The copy is one file without a journal. */
export async function copyDatabase(database: DatabaseSync, file: string): Promise<void> {
  try {
    await backup(database, file)
    chmodSync(file, 0o600)
    const copy = new DatabaseSync(file)
    try {
      copy.exec('PRAGMA journal_mode = DELETE')
      checkIntegrity(copy, file)
    } finally {
      copy.close()
    }
  } catch (error) {
    throw toCaptError(error, file)
  }
}

function checkIntegrity(database: DatabaseSync, file: string): void {
  const row = database.prepare('PRAGMA quick_check(1)').get() as { quick_check?: string } | undefined
  if (row?.quick_check !== 'ok') throw corrupt(file, row?.quick_check ?? 'the check gave no answer')
}

function prepareSchema(database: DatabaseSync, file: string): void {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > SCHEMA_VERSION) {
    throw new CaptError('CAPT_DATA_NEWER', `${file} was written by a newer capt (layout ${version})`, {
      hint: `use the newer capt, or start with another data folder; this one reads layout ${SCHEMA_VERSION}`,
    })
  }
  if (version < FIRST_VERSION) database.exec(`BEGIN IMMEDIATE;${SCHEMA}COMMIT`)
}

/** SQLite's result codes that we can say something useful about. */
const BUSY = 5
const IO_ERROR = 10
const CORRUPT = 11
const FULL = 13
const CANNOT_OPEN = 14
const NOT_A_DATABASE = 26
const READ_ONLY = 8

export function toCaptError(error: unknown, file: string): CaptError {
  if (error instanceof CaptError) return error
  const code = primaryCode(error)
  if (code === BUSY) {
    return new CaptError('CAPT_DATA_HELD', `${file} is in use by another process`, {
      hint: 'stop the other capt that uses this data folder, or choose another folder',
      cause: error,
    })
  }
  if (code === CORRUPT || code === NOT_A_DATABASE) return corrupt(file, messageOf(error), error)
  if (code === FULL) return diskFull(file, error)
  if (code === CANNOT_OPEN || code === READ_ONLY || code === IO_ERROR) {
    return new CaptError('CAPT_DATA_UNUSABLE', `${file} cannot be read or written: ${messageOf(error)}`, {
      hint: 'check that the folder exists, belongs to you and lies on a writable disk',
      cause: error,
    })
  }
  return new CaptError('CAPT_DATA_UNUSABLE', `${file} cannot be used: ${messageOf(error)}`, {
    hint: 'nothing was changed; keep a copy of the folder before you try anything',
    cause: error,
  })
}

export function isDiskFull(error: unknown): boolean {
  return primaryCode(error) === FULL || (error as { code?: string } | undefined)?.code === 'ENOSPC'
}

export function diskFull(file: string, cause?: unknown): CaptError {
  return new CaptError('CAPT_DATA_FULL', `There is no space left to write ${file}`, {
    hint: 'free some space; what was acknowledged before is safe, the refused write was not made',
    cause,
  })
}

function corrupt(file: string, why: string, cause?: unknown): CaptError {
  return new CaptError('CAPT_DATA_CORRUPT', `${file} is damaged: ${why}`, {
    hint: 'nothing was changed; copy the folder, then restore a backup or try `sqlite3 <file> .recover`',
    cause,
  })
}

function primaryCode(error: unknown): number | undefined {
  const extended = (error as { errcode?: number } | undefined)?.errcode
  return extended === undefined ? undefined : extended & 0xff
}
