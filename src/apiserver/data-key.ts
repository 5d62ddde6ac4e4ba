// Where the key of a data folder comes from: a file beside the database that only its owner can read, or a command of the
// user's that prints it (a password manager, a key service).
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CaptError, fileFaultOf, writeSecret } from '#lib'
import { KEY_BYTES } from './store/cipher.ts'
import type { KeySource } from './store/seal-database.ts'

export const KEY_FILE = 'encryption.key'
const COMMAND_TIMEOUT_MS = 60_000

export function keySource(folder: string, command: string | undefined): KeySource {
  return command === undefined || command === '' ? fromFile(join(folder, KEY_FILE)) : fromCommand(command)
}

/** The key in the file, what the command prints, or the text of a key file. */
export function readKey(
  from: { readonly file: string } | { readonly command: string } | { readonly text: string },
): Buffer {
  if ('text' in from) return parseKey(from.text, 'the backup')
  if ('command' in from) return runCommand(from.command)
  try {
    return parseKey(readFileSync(from.file, 'utf8'), from.file)
  } catch (error) {
    throw error instanceof CaptError ? error : unusable(from.file, fileFaultOf(error), error)
  }
}

function fromFile(file: string): KeySource {
  return {
    name: file,
    find() {
      let text: string
      try {
        text = readFileSync(file, 'utf8')
        if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
      } catch (error) {
        if ((error as { code?: string }).code === 'ENOENT') return undefined
        throw unusable(file, fileFaultOf(error), error)
      }
      return parseKey(text, file)
    },
    make() {
      const key = randomBytes(KEY_BYTES)
      writeSecret(file, `${key.toString('base64')}\n`)
      return key
    },
  }
}

const fromCommand = (command: string): KeySource => ({
  name: 'the key command',
  find: () => runCommand(command),
  make: () => runCommand(command),
})

function runCommand(command: string): Buffer {
  let output: string
  try {
    output = execFileSync('/bin/sh', ['-c', command], {
      encoding: 'utf8',
      timeout: COMMAND_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  } catch (error) {
    // The message of the error repeats the command alone, never its output.
    throw unusable('the key command', `it failed with ${exitOf(error)}`, undefined)
  }
  return parseKey(output, 'the key command')
}

function exitOf(error: unknown): string {
  const { status, signal, code } = error as { status?: number | null; signal?: string | null; code?: string }
  return status === null || status === undefined ? (signal ?? code ?? 'an error') : `exit code ${status}`
}

/** 32 bytes in base64 or hex. */
function parseKey(text: string, from: string): Buffer {
  const trimmed = text.trim()
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64')
  if (key.length === KEY_BYTES && /^[A-Za-z0-9+/_-]+={0,2}$/.test(trimmed)) return key
  throw unusable(from, `it gives no key of ${KEY_BYTES} bytes in base64 or hex`, undefined)
}

function unusable(from: string, why: string, cause: unknown): CaptError {
  return new CaptError('CAPT_DATA_KEY_UNUSABLE', `The key cannot be read from ${from}: ${why}`, {
    hint: 'a key is 32 random bytes in base64 or hex, such as `openssl rand -base64 32` prints',
    ...(cause === undefined ? {} : { cause }),
  })
}
