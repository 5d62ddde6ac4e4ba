// Gives the commands the real world: streams, signals, clock and connections.

import { COMMANDS } from './cli/commands.generated.ts'
import { run } from './cli/run.ts'
import { processIo } from './process-io.ts'

export async function start(argv: readonly string[]): Promise<number> {
  const io = processIo(async (options) => (await import('#kube')).openSession(options, process.env))
  const code = await run(argv, io, COMMANDS)
  // A request that an interrupted command left behind would keep the process.
  if (io.signal.aborted) process.exit(code)
  return code
}
