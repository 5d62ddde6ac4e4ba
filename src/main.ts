// The binary: argv in, exit code out. Nothing heavy is loaded before a command asks for it.
import { VERSION } from './lib/version.ts'

const argv = process.argv.slice(2)
if (argv.length === 1 && (argv[0] === 'version' || argv[0] === '--version')) {
  // Written past the stream, whose machinery would cost more than the rest.
  process.getBuiltinModule('node:fs').writeSync(1, `capt ${VERSION}\n`)
} else {
  const { start } = await (argv[0] === 'runner' ? import('./start-runner.ts') : import('./start.ts'))
  process.exitCode = await start(argv)
}
