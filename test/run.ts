// Runs the suites behind `make test` and closes with a summary: the time each suite took beside its budget, and every
// test that was skipped, by name. With CI set, a skip is a failure unless it is allowed here.
//   node test/run.ts [suite …]
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { type RunOptions, run } from 'node:test'
import { spec } from 'node:test/reporters'
import {
  ALLOWED_SKIPS,
  filesOf,
  findMisplaced,
  isAllowed,
  renderSummary,
  type Skip,
  SUITES,
  type Suite,
} from './suites.ts'
import { leaksIn, MARK_LENGTH } from './support/secrets/planted.ts'

const root = join(import.meta.dirname, '..')
const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root }).sort()
const misplaced = findMisplaced(all)
if (misplaced.length > 0) {
  console.error(`error: a test file belongs to exactly one suite (test/suites.ts)\n${misplaced.join('\n')}`)
  process.exit(1)
}
const known = SUITES.filter(({ by }) => by === 'make test').map(({ name }) => name)
const names = process.argv.length > 2 ? process.argv.slice(2) : known
const unknown = names.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`error: there is no suite ${unknown.join(', ')}\n  hint one of: ${known.join(', ')}`)
  process.exit(2)
}

/** What the events have and their types lack: the file that was run, where a test may be declared in another one. */
interface Event {
  readonly name: string
  readonly nesting: number
  readonly file?: string
  readonly entryFile?: string
  readonly skip?: string | boolean
}

if (process.env['CI'] && names.includes('browser') && all.some((file) => file.startsWith('test/browser/')))
  (await import('./support/install.ts')).installPackages()
const seconds = new Map<string, number>()
const times = new Map<string, number>()
const skips: Skip[] = []
/** Secrets of the suites that were printed. */
const leaks = new Set<string>()
const counts = { passed: 0, failed: 0, cancelled: 0 }

// Most files load the same modules: compiled once, they take two thirds of the processor time.
const compiled = mkdtempSync(join(tmpdir(), 'capt-compiled-'))
for (const suite of SUITES.filter(({ name }) => names.includes(name))) {
  const files = filesOf(suite, all)
  if (files.length === 0) continue
  const started = performance.now()
  await runFiles(files, suite.filesAtOnce ?? Math.max(1, availableParallelism() - 1), usingCompiled(suite))
  seconds.set(suite.name, (performance.now() - started) / 1000)
}
rmSync(compiled, { recursive: true, force: true })

const refused = process.env['CI'] ? skips.filter((skip) => !isAllowed(skip, ALLOWED_SKIPS)) : []
process.stdout.write(renderSummary({ seconds, files: times, skips, refused, leaks: [...leaks], counts }))
process.exitCode = counts.failed + counts.cancelled + refused.length + leaks.size > 0 || counts.passed === 0 ? 1 : 0

/** For the programs that tests start, too; but what ships is started as a user starts it. */
function usingCompiled({ name }: Suite): Pick<RunOptions, 'env' | 'execArgv'> {
  if (name !== 'shipped') return { env: { ...process.env, NODE_COMPILE_CACHE: compiled } }
  const enable = `import { enableCompileCache } from 'node:module'; enableCompileCache(${JSON.stringify(compiled)})`
  return { env: process.env, execArgv: [`--import=data:text/javascript,${encodeURIComponent(enable)}`] }
}

/** Runs the files and adds what they passed, failed and skipped to the totals. */
async function runFiles(
  files: readonly string[],
  concurrency: number,
  options: Pick<RunOptions, 'env' | 'execArgv'>,
): Promise<void> {
  const open = new Map<string, readonly string[]>()
  const pathOf = ({ entryFile = '', nesting, name }: Event) => [...(open.get(entryFile) ?? []).slice(0, nesting), name]
  const events = run({ files: files.map((file) => join(root, file)), concurrency, ...options })
  events.on('test:start', (event: Event) => {
    if (event.entryFile !== undefined) open.set(event.entryFile, pathOf(event))
  })
  events.on('test:pass', (event: Event) => {
    const { skip, entryFile } = event
    if (skip === undefined || skip === false || entryFile === undefined) return
    const reason = skip === true ? '' : skip
    skips.push({ file: relative(root, entryFile), name: pathOf(event).join(' > '), reason })
  })
  events.on('test:summary', ({ file, counts: found, duration_ms: tookMs }) => {
    if (file !== undefined) return void times.set(relative(root, file), tookMs / 1000)
    counts.passed += found.passed
    counts.failed += (found as typeof counts & typeof found).failed
    counts.cancelled += found.cancelled
  })
  // A secret may be cut in two by the pieces.
  let end = ''
  for await (const piece of events.compose(new spec())) {
    process.stdout.write(piece as Buffer)
    const text = end + String(piece)
    for (const leak of leaksIn(text)) leaks.add(leak)
    end = text.slice(-MARK_LENGTH)
  }
}
