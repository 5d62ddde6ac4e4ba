// Makes the data folder of an embedded home from a backup.
import { resolve } from 'node:path'
import { restoreHome } from '#app'
import { CaptError } from '#lib'
import { type Command, EXIT } from '../../command.ts'
import { BACKUP_KEY_OPTIONS, backupKeyOf } from '../../home/backup-key.ts'

export const command: Command = {
  name: 'restore',
  summary: 'Make an embedded home from a backup',
  positionals: 'FILE',
  examples: {
    'restore home.backup --data ./home --key-file encryption.key': 'Then start it: capt up --data ./home',
    'restore home.backup --data ./home --key-file encryption.key --dry-run': 'Check file, key and folder',
  },
  options: {
    data: { type: 'string', value: 'DIR', about: 'Data folder to make; it must be empty or missing.' },
    ...BACKUP_KEY_OPTIONS,
    'dry-run': { type: 'boolean', about: 'Check everything and write nothing.' },
  },
  async run(args, io) {
    const [file] = args.positionals
    const { data } = args.values
    const key = backupKeyOf(args, io)
    const hint = 'capt restore home.backup --data ./home --key-file encryption.key'
    if (file === undefined) throw new CaptError('CAPT_USAGE', 'restore needs the file of a backup', { hint })
    if (typeof data !== 'string') throw new CaptError('CAPT_USAGE', 'restore needs --data', { hint })
    if (!key) throw new CaptError('CAPT_USAGE', 'restore needs the key of the backup', { hint })
    const dryRun = args.values['dry-run'] === true
    const request = { file: resolve(io.cwd, file), dataDir: resolve(io.cwd, data), key, clock: io.clock, dryRun }
    const { madeAt, capt } = await restoreHome(request)
    if (dryRun) {
      io.stdout.write(`${file} can be restored to ${data}: made at ${madeAt} by capt ${capt}\n`)
      return EXIT.fine
    }
    io.stdout.write(`Restored ${data} as it was at ${madeAt}\n`)
    io.stderr.write(
      `Start it: capt up --data ${data}. Everything is planned once; a plan that would change something waits: capt plan NAME, then capt approve NAME --plan HASH\n`,
    )
    return EXIT.fine
  },
}
