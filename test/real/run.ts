// make test-real: builds what is missing, starts one shared control plane for the files that only need an API server,
// runs every test file under test/real, and ends with a table of what was proven on which version.
// Files with servers of their own run side by side, and beside those on the shared one, which run one by one; those that measure
// run alone, at the end.
//   node test/real/run.ts [NAME...]      only the files whose name contains one of the words
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ALLOWED_SKIPS, filesOf, isAllowed, type Skip, SUITES, skipsIn } from '../suites.ts'
import { leaksIn } from '../support/secrets/planted.ts'
import { startKube, VERSIONS } from './support/lab.ts'

const here = import.meta.dirname
const root = join(here, '../..')
const wanted = process.argv.slice(2)
const suite = SUITES.find(({ name }) => name === 'real')!
const all = globSync('**/*.test.ts', { cwd: here }).map((file) => `test/real/${file}`)
const files = filesOf(suite, all.sort()).filter(
  (file) => wanted.length === 0 || wanted.some((word) => basename(file).includes(word)),
)
if (files.length === 0) {
  console.error(`No file under test/real matches ${wanted.join(', ')}`)
  process.exit(2)
}

const built = spawnSync(join(here, 'build.sh'), [], { stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

/** They compare memory or processor time with a limit, so nothing else may run beside them. */
const MEASURING = ['growth', 'memory', 'memory-empty']
const measures = (file: string): boolean => MEASURING.includes(basename(file, '.test.ts'))
const isOnSharedServer = (file: string): boolean =>
  readFileSync(join(root, file), 'utf8').includes('CAPT_REAL_KUBECONFIG')

const began = Date.now()
const folder = mkdtempSync(join(tmpdir(), 'capt-real-run-'))
const proofs = join(folder, 'proofs.tsv')
const kube = await startKube({ name: 'shared' })
const rows: string[][] = []
let failed = 0
let passed = 0
const failures: string[] = []
const skips: Skip[] = []
try {
  const together = files.filter((file) => !measures(file))
  const shared = together.filter(isOnSharedServer)
  const own = together.filter((file) => !shared.includes(file))
  const beside = Array.from({ length: suite.filesAtOnce! - 1 }, () => runInTurn(own))
  await Promise.all([runInTurn(shared, own), ...beside])
  await runInTurn(files.filter(measures))
} finally {
  await kube.stop()
}

console.log(`\nkube-apiserver ${VERSIONS.kube}, etcd ${VERSIONS.etcd}, Cluster API ${VERSIONS.capi.join(' and ')}`)
print(['suite', 'result', 'time'], rows.sort())
console.log(`\nall: ${Math.round((Date.now() - began) / 1000)} s of ${suite.budgetSeconds} s`)
if (existsSync(proofs)) {
  const lines = readFileSync(proofs, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
  print(['component', 'version', 'what was proven', 'figure'], lines)
}
rmSync(folder, { recursive: true, force: true })
// Last, because the end of a long log is what people read.
for (const failure of failures) console.log(`\n${failure}`)
const refused = process.env['CI'] ? skips.filter((skip) => !isAllowed(skip, ALLOWED_SKIPS)) : []
for (const skip of skips)
  console.log(`${refused.includes(skip) ? 'failed, skipped in CI' : 'skipped'}  ${skip.file}: ${skip.name}`)
console.log(`\n${passed} passed, ${failed + refused.length} failed`)
process.exit(failed + refused.length > 0 ? 1 : 0)

/** Takes files from the queues, the first queue first, until all are empty. Several callers may share a queue. */
async function runInTurn(...queues: string[][]): Promise<void> {
  for (;;) {
    const file = queues.find((queue) => queue.length > 0)?.shift()
    if (file === undefined) return
    await runFile(file)
  }
}

async function runFile(file: string): Promise<void> {
  const started = Date.now()
  const run = spawn(process.execPath, ['--test', '--test-timeout=2400000', join(root, file)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CAPT_REAL_KUBECONFIG: kube.kubeconfig, CAPT_REAL_PROOFS: proofs },
  })
  const [output, [status]] = await Promise.all([text(run.stdout), once(run, 'close')])
  process.stdout.write(`\n-- ${file}\n${output}`)
  const count = (word: string) => Number(new RegExp(`^ℹ ${word} (\\d+)`, 'm').exec(output)?.[1] ?? 0)
  passed += count('pass')
  skips.push(...skipsIn(output).map((skip) => ({ file, ...skip })))
  const leaks = leaksIn(output)
  if (leaks.length > 0) {
    failed += 1
    failures.push(`-- ${file} printed secrets of the suites: ${leaks.join(', ')}`)
  }
  if (status !== 0) {
    failed += Math.max(1, count('fail'))
    failures.push(`-- ${file}\n${failuresIn(output)}`)
  }
  rows.push([
    basename(file, '.test.ts'),
    `${count('pass')} passed, ${count('fail')} failed`,
    `${Math.round((Date.now() - started) / 1000)} s`,
  ])
}

/** What the test runner says about the tests that failed; without such words (killed, out of time) the last lines. */
function failuresIn(output: string): string {
  const at = output.indexOf('✖ failing tests:')
  return at >= 0 ? output.slice(at).trim() : output.trim().split('\n').slice(-30).join('\n')
}

function print(head: readonly string[], body: readonly (readonly string[])[]): void {
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((row) => (row[i] ?? '').length)))
  console.log()
  for (const row of [head, ...body])
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}
