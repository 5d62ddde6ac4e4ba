// Runs the embedded API as a process of its own, so that a test can kill it.
import { startApiServer } from '#apiserver'

const [dataDir = ''] = process.argv.slice(2)
const server = await startApiServer({ dataDir })
process.stdout.write(`${JSON.stringify({ url: server.url, token: server.token, caPem: server.caPem })}\n`)
// The listening socket keeps the process alive; only a signal ends it.
