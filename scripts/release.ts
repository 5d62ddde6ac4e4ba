// One verb of a release. Checks everything that it needs before it changes anything; with --dry-run (or DRY_RUN=1) it
// changes nothing, and prints the steps and what would stop them.
//   VERSION=1.2.3 [REGISTRY=ghcr.io] [OWNER=appthrust] [CONTAINER_TOOL=docker] node scripts/release.ts VERB [--dry-run]
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runVerb, type World } from './release/run.ts'

const root = join(import.meta.dirname, '..')
const at = (path: string) => join(root, path)

const world: World = {
  env: process.env,
  date: new Date().toISOString().slice(0, 10),
  read: (path) => (existsSync(at(path)) ? readFileSync(at(path), 'utf8') : undefined),
  write: (path, text) => writeFileSync(at(path), text),
  assets: () => (existsSync(at('dist/installer')) ? readdirSync(at('dist/installer')).sort() : []),
  ask([name, ...args]) {
    const { status, stdout, stderr } = spawnSync(name!, args, { cwd: root, encoding: 'utf8', timeout: 30_000 })
    return { status, out: stdout ?? '', err: stderr ?? '' }
  },
  run([name, ...args], input) {
    const how = { cwd: root, stdio: ['pipe', 'inherit', 'inherit'], input: input ?? '' } as const
    return spawnSync(name!, args, { ...how, stdio: [...how.stdio] }).status ?? 1
  },
  print: (line) => console.log(line),
  complain: (line) => console.error(line),
}

try {
  const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean' } }, allowPositionals: true })
  const isDry = values['dry-run'] || Boolean(process.env['DRY_RUN'])
  process.exitCode = await runVerb(positionals.join(' '), { isDry }, world)
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 2
}
