// The folder that holds everything: the database, the authority that signs our certificate, and the port. Only its owner
// can read it. Who holds it at the moment is written down for people; the lock itself is the database's.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { CaptError, isCaptError, messageOf, writeSecret } from '#lib'
import { type KeptAuthority, openAuthority } from './authority.ts'
import { packFolder } from './backup/container.ts'
import { BACKED_UP, DATABASE } from './backup/restore-folder.ts'
import { KEY_FILE, keySource } from './data-key.ts'
import { diskFull, isDiskFull, openDatabase, toCaptError } from './store/database.ts'
import { type KeySource, sealDatabase } from './store/seal-database.ts'
import { openStore, type Store } from './store/store.ts'

interface DataFolder {
  readonly store: Store
  readonly authority: KeptAuthority
  /** Port that the API listened on last; undefined in a new folder. */
  readonly port: number | undefined
  /** Keeps the port, so that kubeconfigs written before work after a restart. */
  keepPort(port: number): void
  /** All that a restore needs, as it is at one moment; objects may be written meanwhile. */
  snapshot(): Promise<AsyncIterable<Buffer>>
  release(): void
}

interface DataFolderOptions {
  readonly path: string
  readonly now: number
  readonly maxPages?: number | undefined
  /** Prints the key that Secrets are encrypted with; without it the key is kept in a file of the folder. */
  readonly keyCommand?: string | undefined
  /** Port of a folder that has no file with it. */
  readonly formerPort?: number | undefined
}

export function openDataFolder({ path, now, maxPages, keyCommand, formerPort }: DataFolderOptions): DataFolder {
  prepare(path)
  const file = join(path, DATABASE)
  const holder = join(path, 'holder.json')
  const store = openHeld(file, holder, maxPages, keySource(path, keyCommand))
  try {
    dropSnapshots(path)
    const authority = openAuthority(join(path, 'authority.json'), now)
    const portFile = join(path, 'port')
    const kept = readPort(portFile)
    writeSecret(holder, JSON.stringify({ pid: process.pid, since: new Date(now).toISOString() }))
    return {
      store,
      authority,
      port: kept ?? formerPort,
      keepPort(listening) {
        if (listening !== kept) writeSecret(portFile, `${listening}\n`)
      },
      snapshot: () => takeSnapshot(path, store, !keyCommand),
      release() {
        rmSync(holder, { force: true })
        store.close()
      },
    }
  } catch (error) {
    store.close()
    throw isDiskFull(error) ? diskFull(path, error) : error
  }
}

const SNAPSHOT_PREFIX = '.snapshot-'

/** Left by a process that was killed while it made one. */
function dropSnapshots(path: string): void {
  for (const name of readdirSync(path))
    if (name.startsWith(SNAPSHOT_PREFIX)) rmSync(join(path, name), { recursive: true, force: true })
}

/** The copy lies in the folder itself, which only its owner can read, until it was read to its end. */
async function takeSnapshot(path: string, store: Store, hasKeyFile: boolean): Promise<AsyncIterable<Buffer>> {
  const copy = mkdtempSync(join(path, SNAPSHOT_PREFIX))
  try {
    await store.copyTo(join(copy, DATABASE))
    const others = BACKED_UP.filter((name) => name !== DATABASE && (hasKeyFile || name !== KEY_FILE))
    for (const name of others) if (existsSync(join(path, name))) copyFileSync(join(path, name), join(copy, name))
  } catch (error) {
    rmSync(copy, { recursive: true, force: true })
    throw isDiskFull(error) ? diskFull(path, error) : error
  }
  return removedAfter(copy)
}

async function* removedAfter(copy: string): AsyncGenerator<Buffer> {
  try {
    yield* packFolder(copy)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function prepare(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    if (!statSync(path).isDirectory()) throw new Error('it is a file')
    chmodSync(path, 0o700)
  } catch (error) {
    if (isDiskFull(error)) throw diskFull(path, error)
    throw new CaptError('CAPT_DATA_UNUSABLE', `${path} cannot be used as a data folder: ${messageOf(error)}`, {
      hint: 'choose a folder that you may write to',
      cause: error,
    })
  }
}

function openHeld(file: string, holder: string, maxPages: number | undefined, key: KeySource): Store {
  try {
    return openSealed(file, maxPages, key)
  } catch (error) {
    if (!isCaptError(error, 'CAPT_DATA_HELD')) throw error
    const known = readHolder(holder)
    if (!known) throw error
    throw new CaptError(error.code, `${error.message} (process ${known.pid}, since ${known.since})`, {
      ...(error.hint ? { hint: error.hint } : {}),
      cause: error,
    })
  }
}

function openSealed(file: string, maxPages: number | undefined, key: KeySource): Store {
  const database = openDatabase(file, maxPages === undefined ? {} : { maxPages })
  try {
    return openStore(database, file, sealDatabase(database, file, key))
  } catch (error) {
    database.close()
    throw toCaptError(error, file)
  }
}

function readHolder(path: string): { pid: number; since: string } | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { pid: number; since: string }
  } catch {
    return undefined
  }
}

function readPort(file: string): number | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw error
  }
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port
  throw new CaptError('CAPT_DATA_CORRUPT', `${file} is damaged: it holds no port`, {
    hint: 'write the port of your kubeconfig into it, or remove it: the port of the kubeconfig in the folder is used then',
  })
}
