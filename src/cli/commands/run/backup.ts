// Writes an encrypted copy of an embedded home to one file, while the home runs or not.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { backupHome } from '#app'
import { CaptError } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, connectionOf, EXIT, type Io } from '../../command.ts'
import { BACKUP_KEY_OPTIONS, backupKeyOf } from '../../home/backup-key.ts'
import { confirm, YES_OPTION } from '../../output.ts'

const { kubeconfig, context } = CONNECTION_OPTIONS

export const command: Command = {
  name: 'backup',
  summary: 'Write an encrypted backup of an embedded home',
  examples: {
    'backup --data ./home -o home.backup': 'With the key of the home, which must be kept elsewhere too',
    'backup --data ./home -o home.backup --key-file backup.key': 'With a key for backups alone',
    'backup --kubeconfig home.kubeconfig -o home.backup': 'Of the running home that answers there',
  },
  options: {
    output: { type: 'string', short: 'o', value: 'FILE', about: 'File to write; mode 0600.' },
    data: {
      type: 'string',
      value: 'DIR',
      about: 'Data folder of the home; whether it runs makes no difference. Otherwise the home of the kubeconfig.',
    },
    'data-key-command': {
      type: 'string',
      value: 'COMMAND',
      about: 'As for capt up, where the home has one. Also read from CAPT_DATA_KEY_COMMAND.',
    },
    ...BACKUP_KEY_OPTIONS,
    kubeconfig,
    context,
    ...YES_OPTION,
  },
  async run(args, io) {
    const { output } = args.values
    if (typeof output !== 'string')
      throw new CaptError('CAPT_USAGE', 'backup needs --output', { hint: 'capt backup --data ./home -o home.backup' })
    const file = resolve(io.cwd, output)
    const key = backupKeyOf(args, io)
    const home = homeOf(args, io)
    if (existsSync(file) && !(await confirm(`Replace ${output}?`, args, io))) return EXIT.failed
    const report = await backupHome({ home, key, output: file, clock: io.clock })
    io.stdout.write(`Wrote ${output}: ${report.bytes} bytes of ${report.madeAt}, encrypted with key ${report.key}\n`)
    if (report.ownKey === 'file')
      io.stderr.write(
        'It can be restored only with the key of the home: keep a copy of encryption.key of its data folder, apart from the backup\n',
      )
    if (report.ownKey === 'command')
      io.stderr.write('It can be restored only with the key that the command of the home prints\n')
    return EXIT.fine
  },
}

function homeOf(args: Arguments, io: Io): Parameters<typeof backupHome>[0]['home'] {
  const { data } = args.values
  const session = connectionOf(args)
  if (typeof data === 'string') {
    if (session.kubeconfig !== undefined || session.context !== undefined)
      throw new CaptError('CAPT_USAGE', '--data and --kubeconfig name one home each', { hint: 'leave one of them out' })
    const keyCommand = args.values['data-key-command'] ?? io.env['CAPT_DATA_KEY_COMMAND']
    return { dataDir: resolve(io.cwd, data), ...(typeof keyCommand === 'string' ? { keyCommand } : {}) }
  }
  const { kubeconfig: path, context: name } = session
  return {
    access: { ...(path === undefined ? {} : { path }), ...(name === undefined ? {} : { context: name }), env: io.env },
  }
}
