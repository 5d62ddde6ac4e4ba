// The file of a backup: one line of JSON that needs no key, then the content, compressed and encrypted with AES-256-GCM.
// A checksum over all of it distinguishes a damaged file from a wrong key; the encryption authenticates the line too.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { CaptError, isPlainObject, parseJson } from '#lib'

/** What the first line says. */
export interface BackupFacts {
  /** The capt that made it. */
  readonly capt: string
  /** RFC 3339, in seconds. */
  readonly madeAt: string
  /** Fingerprint of the key that it is encrypted with. */
  readonly key: string
}

const FORMAT = 'capt-backup'
const FORMAT_VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const NEWLINE = 0x0a
/** The line is short; a file without one in these bytes is no backup. */
const MAX_LINE = 4096

interface Header extends BackupFacts {
  readonly nonce: string
  readonly sha256: string
}

/** Identifies a key of 32 random bytes and reveals nothing of it. */
export const fingerprintOf = (key: Buffer): string =>
  createHash('sha256').update('capt-backup-key\n').update(key).digest('hex').slice(0, 16)

export function sealBackup(content: Buffer, key: Buffer, { capt, madeAt }: Omit<BackupFacts, 'key'>): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const facts = factsLine({ capt, madeAt, key: fingerprintOf(key), nonce: nonce.toString('base64') })
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(facts))
  const sealed = Buffer.concat([cipher.update(gzipSync(content)), cipher.final(), cipher.getAuthTag()])
  const line = JSON.stringify({ ...(parseJson(facts) as object), sha256: checksumOf(facts, sealed) })
  return Buffer.concat([Buffer.from(`${line}\n`), sealed])
}

/** Reads the line and checks the file against its checksum; no key is needed. `from` names the file in errors. */
export function readBackup(bytes: Buffer, from: string): { readonly facts: BackupFacts; open(key: Buffer): Buffer } {
  const end = bytes.subarray(0, MAX_LINE).indexOf(NEWLINE)
  const header = readHeader(end < 0 ? '' : bytes.toString('utf8', 0, end), from)
  const { capt, madeAt, key: fingerprint, nonce, sha256 } = header
  const sealed = bytes.subarray(end + 1)
  const line = factsLine({ capt, madeAt, key: fingerprint, nonce })
  if (sealed.length < TAG_BYTES || checksumOf(line, sealed) !== sha256) throw damaged(from)
  return {
    facts: { capt, madeAt, key: fingerprint },
    open(key) {
      if (fingerprintOf(key) !== fingerprint) {
        throw new CaptError(
          'CAPT_BACKUP_KEY_WRONG',
          `${from} is encrypted with the key ${fingerprint}, and the given one is ${fingerprintOf(key)}`,
          { hint: 'give the key that was used when the backup was made, with --key-file or --key-command' },
        )
      }
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64'), { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(line))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        return gunzipSync(Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]))
      } catch (cause) {
        throw damaged(from, cause)
      }
    },
  }
}

/** One form of the facts, whatever the order in the file: checksum and encryption cover it. */
const factsLine = ({ capt, madeAt, key, nonce }: Omit<Header, 'sha256'>): string =>
  JSON.stringify({ format: FORMAT, version: FORMAT_VERSION, capt, madeAt, key, nonce })

const checksumOf = (facts: string, sealed: Buffer): string =>
  createHash('sha256').update(`${facts}\n`).update(sealed).digest('hex')

function readHeader(line: string, from: string): Header {
  const value = tryParse(line)
  if (!isPlainObject(value) || value['format'] !== FORMAT) {
    throw new CaptError('CAPT_BACKUP_UNREADABLE', `${from} is not a backup of capt`, {
      hint: 'name a file that capt backup wrote',
    })
  }
  const { version, capt } = value
  if (typeof version === 'number' && version > FORMAT_VERSION) {
    throw new CaptError('CAPT_BACKUP_NEWER', `${from} has format ${version}; this capt reads ${FORMAT_VERSION}`, {
      hint: `restore it with capt ${String(capt)}, which made it, or a later one`,
    })
  }
  const isWhole = ['capt', 'madeAt', 'key', 'nonce', 'sha256'].every((name) => typeof value[name] === 'string')
  if (version !== FORMAT_VERSION || !isWhole) throw damaged(from)
  return value as unknown as Header
}

function tryParse(line: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}

export function damaged(from: string, cause?: unknown): CaptError {
  return new CaptError('CAPT_BACKUP_DAMAGED', `${from} is damaged: it is not what capt backup wrote`, {
    hint: 'copy it again from where it was kept, or restore an earlier backup; nothing was changed',
    ...(cause === undefined ? {} : { cause }),
  })
}
