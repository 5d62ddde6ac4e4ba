// The start of a runner, bundled apart from the other commands: it is on the way of every Terraform run.

import { command } from './cli/commands/run/runner.ts'
import { run } from './cli/run.ts'
import { processIo } from './process-io.ts'

export async function start(argv: readonly string[]): Promise<number> {
  const io = processIo(() => Promise.reject(new Error('a runner connects by itself')))
  const code = await run(argv, io, [{ ...command, load: async () => ({ command }) }])
  // The manager waits for our end, and taking the heap apart first would only take time.
  process.exit(code)
}
