// make test-real: builds what is missing, starts one shared control plane for the files that only need an API server,
// runs every test file under test/real, and ends with a table of what was proven on which version.
//   node test/real/run.ts [NAME...]      only the files whose name contains one of the words
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ALLOWED_SKIPS, isAllowed, type Skip, skipsIn } from '../suites.ts'
import { startKube, VERSIONS } from './support/lab.ts'

const here = import.meta.dirname
const wanted = process.argv.slice(2)
const files = globSync('**/*.test.ts', { cwd: here })
  .filter((file) => wanted.length === 0 || wanted.some((word) => basename(file).includes(word)))
  .sort()
if (files.length === 0) {
  console.error(`No file under test/real matches ${wanted.join(', ')}`)
  process.exit(2)
}

const built = spawnSync(join(here, 'build.sh'), [], { stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

const folder = mkdtempSync(join(tmpdir(), 'capt-real-run-'))
const proofs = join(folder, 'proofs.tsv')
const kube = await startKube({ name: 'shared' })
const rows: string[][] = []
let failed = 0
let passed = 0
const failures: string[] = []
const skips: Skip[] = []
try {
  for (const file of files) {
    console.log(`\n-- test/real/${file}`)
    const started = Date.now()
    const run = spawnSync(process.execPath, ['--test', '--test-timeout=2400000', join(here, file)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      maxBuffer: 64 << 20,
      env: { ...process.env, CAPT_REAL_KUBECONFIG: kube.kubeconfig, CAPT_REAL_PROOFS: proofs },
    })
    process.stdout.write(run.stdout)
    const count = (word: string) => Number(new RegExp(`^ℹ ${word} (\\d+)`, 'm').exec(run.stdout)?.[1] ?? 0)
    passed += count('pass')
    skips.push(...skipsIn(run.stdout).map((skip) => ({ file: `test/real/${file}`, ...skip })))
    if (run.status !== 0) {
      failed += Math.max(1, count('fail'))
      failures.push(`-- test/real/${file}\n${failuresIn(run.stdout)}`)
    }
    rows.push([
      basename(file, '.test.ts'),
      `${count('pass')} passed, ${count('fail')} failed`,
      `${Math.round((Date.now() - started) / 1000)} s`,
    ])
  }
} finally {
  await kube.stop()
}

console.log(`\nkube-apiserver ${VERSIONS.kube}, etcd ${VERSIONS.etcd}, Cluster API ${VERSIONS.capi.join(' and ')}`)
print(['suite', 'result', 'time'], rows)
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
