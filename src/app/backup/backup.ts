// Backs up an embedded home, whether it runs or not, and makes a home from a backup.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type BackupFacts,
  fingerprintOf,
  openDataFolder,
  readBackup,
  readKey,
  refuseUnlessEmpty,
  restoreFolder,
  SNAPSHOT_PATH,
  sealBackup,
  unpackFiles,
} from '#apiserver'
import { type AccessOptions, createClient, isKubeError, loadKubeconfig } from '#kube'
import { CaptError, type Clock, fileFaultOf, isCaptError, messageOf, toTimestamp, VERSION } from '#lib'

/** Where a key of 32 bytes is: a file, or a shell command that prints it. */
export type KeyPlace = { readonly file: string } | { readonly command: string }

interface BackupRequest {
  /** The data folder, or how to reach the home that runs. */
  readonly home: { readonly dataDir: string; readonly keyCommand?: string } | { readonly access: AccessOptions }
  /** Left out: the key of the home itself. */
  readonly key: KeyPlace | undefined
  readonly output: string
  readonly clock: Clock
}

interface BackupReport extends BackupFacts {
  readonly bytes: number
  /** The key is that of the home, which its folder has; undefined where it was given. */
  readonly ownKey: 'file' | 'command' | undefined
}

/** How long a home may take to copy its database. */
const SNAPSHOT_TIMEOUT_MS = 10 * 60_000

export async function backupHome({ home, key, output, clock }: BackupRequest): Promise<BackupReport> {
  const given = key && readKey(key)
  const content = await readHome(home, clock)
  const { bytes: keyBytes, ownKey } = given ? { bytes: given, ownKey: undefined } : keyOfHome(home, content)
  const facts = { capt: VERSION, madeAt: toTimestamp(clock.now()) }
  const sealed = sealBackup(content, keyBytes, facts)
  writeWhole(output, sealed)
  return { ...facts, key: fingerprintOf(keyBytes), bytes: sealed.length, ownKey }
}

async function readHome(home: BackupRequest['home'], clock: Clock): Promise<Buffer> {
  if ('access' in home) return await download(home.access)
  const { dataDir, keyCommand } = home
  if (!existsSync(join(dataDir, 'objects.db'))) {
    throw new CaptError('CAPT_BACKUP_NO_HOME', `${dataDir} is not the data folder of a home`, {
      hint: 'name the folder that capt up --data names',
    })
  }
  try {
    const folder = openDataFolder({ path: dataDir, now: clock.now(), ...(keyCommand ? { keyCommand } : {}) })
    try {
      return await collect(await folder.snapshot(), dataDir)
    } finally {
      folder.release()
    }
  } catch (error) {
    if (!isCaptError(error, 'CAPT_DATA_HELD')) throw error
    const kubeconfig = join(dataDir, 'kubeconfig')
    if (existsSync(kubeconfig)) return await download({ path: kubeconfig, clock })
    throw new CaptError(error.code, error.message, {
      hint: 'a home runs there and wrote its kubeconfig elsewhere: name that file with --kubeconfig instead of --data',
      cause: error,
    })
  }
}

async function download(options: AccessOptions): Promise<Buffer> {
  const client = createClient(await loadKubeconfig(options), { userAgent: 'capt-backup' })
  const { server } = client.access
  try {
    const content = await collect(await client.download(SNAPSHOT_PATH, SNAPSHOT_TIMEOUT_MS), server)
    if (!unpackFiles(content)) throw noHome(server)
    return content
  } catch (error) {
    throw isKubeError(error, 'NotFound') ? noHome(server, error) : error
  } finally {
    client.close()
  }
}

const noHome = (server: string, cause?: unknown): CaptError =>
  new CaptError('CAPT_BACKUP_NO_HOME', `${server} is not an embedded home of this version`, {
    hint: 'a management cluster is backed up with its own tools (capt explain CAPT_BACKUP_NO_HOME says what to include)',
    cause,
  })

async function collect(chunks: AsyncIterable<Buffer>, from: string): Promise<Buffer> {
  try {
    return Buffer.concat(await Array.fromAsync(chunks))
  } catch (error) {
    throw new CaptError('CAPT_BACKUP_INTERRUPTED', `${from} was not read to its end: ${messageOf(error)}`, {
      hint: 'no backup was made; look at the log of the home, then try again',
      cause: error,
    })
  }
}

function keyOfHome(home: BackupRequest['home'], content: Buffer) {
  const file = unpackFiles(content)?.get('encryption.key')
  if (file) return { bytes: readKey({ text: file.toString('utf8') }), ownKey: 'file' } as const
  if ('dataDir' in home && home.keyCommand)
    return { bytes: readKey({ command: home.keyCommand }), ownKey: 'command' } as const
  throw new CaptError('CAPT_USAGE', 'the key of this home comes from a command, so the backup needs a key', {
    hint: 'add --key-command with the command that capt up has, or --key-file',
  })
}

/** Whole or not at all, for its owner alone. */
function writeWhole(file: string, bytes: Buffer): void {
  const draft = `${file}.part-${process.pid}`
  try {
    writeFileSync(draft, bytes, { mode: 0o600, flush: true, flag: 'wx' })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new CaptError('CAPT_BACKUP_NOT_WRITTEN', `${file} cannot be written: ${messageOf(error)}`, {
      hint: 'check that the folder exists, belongs to you and has enough space; no backup was made',
      cause: error,
    })
  }
}

interface RestoreRequest {
  readonly file: string
  readonly dataDir: string
  readonly key: KeyPlace
  readonly clock: Clock
  /** Check everything and write nothing. */
  readonly dryRun: boolean
}

/** Everything is checked before anything is written. */
export function restoreHome({ file, dataDir, key, clock, dryRun }: RestoreRequest): BackupFacts {
  refuseUnlessEmpty(dataDir)
  const backup = readBackup(readWhole(file), file)
  const { madeAt } = backup.facts
  const content = backup.open(readKey(key))
  const restoredAt = toTimestamp(clock.now())
  // Runs are compared with the time of the restore: it must not be before what the backup has.
  if (Date.parse(restoredAt) < Date.parse(madeAt)) {
    throw new CaptError('CAPT_BACKUP_AHEAD', `${file} was made at ${madeAt}, and the clock here says ${restoredAt}`, {
      hint: 'set the clock of this machine; nothing was changed',
    })
  }
  if (!dryRun) restoreFolder(dataDir, content, file, { madeAt, restoredAt, isPrepared: false })
  return backup.facts
}

function readWhole(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CaptError('CAPT_BACKUP_UNREADABLE', `${file} cannot be read: ${fileFaultOf(error)}`, {
      hint: 'name a file that capt backup wrote',
      cause: error,
    })
  }
}
