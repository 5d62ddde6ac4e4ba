// The options that name the key of a backup, shared by `capt backup` and `capt restore`.
import { resolve } from 'node:path'
import type { KeyPlace } from '#app'
import { CaptError } from '#lib'
import type { Arguments, Io, Option } from '../command.ts'

export const BACKUP_KEY_OPTIONS = {
  'key-file': {
    type: 'string',
    value: 'FILE',
    about: 'File with the key of the backup (32 bytes, base64 or hex).',
  },
  'key-command': {
    type: 'string',
    value: 'COMMAND',
    about: 'Shell command that prints the key of the backup, instead of a file.',
  },
} as const satisfies Record<string, Option>

export function backupKeyOf({ values }: Arguments, io: Io): KeyPlace | undefined {
  const { 'key-file': file, 'key-command': command } = values
  if (typeof file === 'string' && typeof command === 'string')
    throw new CaptError('CAPT_USAGE', '--key-file and --key-command name one key each', {
      hint: 'leave one of them out',
    })
  if (typeof file === 'string') return { file: resolve(io.cwd, file) }
  return typeof command === 'string' ? { command } : undefined
}
