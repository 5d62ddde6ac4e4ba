// The summary behind `make test`: no test file is forgotten, no skip is silent, and in CI a skip is a failure.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  ALLOWED_SKIPS,
  filesOf,
  findMisplaced,
  isAllowed,
  renderSummary,
  SUITES,
  skipsIn,
  suiteOf,
} from '../../suites.ts'

const root = join(import.meta.dirname, '../../..')

describe('the suites', () => {
  it('hold every test file exactly once', () => {
    const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
    assert.ok(files.length > 100)
    assert.deepEqual(findMisplaced(files), [])
  })

  it('name a file that no suite runs', () =>
    assert.deepEqual(findMisplaced(['test/new-folder/x.test.ts', 'test/shipped/x.test.ts']), [
      '  test/new-folder/x.test.ts: in no suite',
    ]))

  for (const [file, suite] of [
    ['src/lib/x.test.ts', 'unit'],
    ['test/engine/limits.test.ts', 'engine'],
    ['test/engine/recovery/recovery.test.ts', 'engine'],
    ['test/cli/arguments.test.ts', 'cli'],
    ['test/stories/addons/life.test.ts', 'stories'],
    ['test/stories/deep/x.test.ts', 'stories'],
    ['test/shipped/aws.test.ts', 'shipped'],
    ['test/browser/page.test.ts', 'browser'],
    ['test/real/manager/life.test.ts', 'real'],
  ] as const)
    it(`run ${file} in ${suite}`, () => assert.equal(suiteOf(file)?.name, suite))

  it('start their longest files first, and run every file once', () => {
    const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
    for (const suite of SUITES) {
      const ordered = filesOf(suite, files)
      const { longest = [] } = suite
      assert.deepEqual(ordered.slice(0, longest.length), longest, `${suite.name} has these files`)
      assert.deepEqual([...ordered].sort(), files.filter((file) => suiteOf(file)?.name === suite.name).sort())
    }
  })

  it('stay within 18 minutes together, and what ships within six', () => {
    const budget = (names: readonly string[]) =>
      SUITES.filter(({ name }) => names.includes(name)).reduce((sum, { budgetSeconds }) => sum + budgetSeconds, 0)
    const inMakeTest = SUITES.filter(({ by }) => by === 'make test').map(({ name }) => name)
    assert.ok(budget(inMakeTest) <= 18 * 60, `${budget(inMakeTest)} seconds`)
    assert.ok(budget(['shipped']) <= 6 * 60)
  })
})

describe('the summary', () => {
  const counts = { passed: 10, failed: 0, cancelled: 0 }
  const skip = { file: 'test/x.test.ts', name: 'needs kubectl', reason: 'kubectl is not installed' }

  it('ends with what passed and failed', () =>
    assert.match(
      renderSummary({ seconds: new Map([['unit', 12.4]]), files: new Map(), skips: [], refused: [], counts }),
      /\n {2}unit {8}12 s of +\d+ s\n10 passed, 0 failed, 0 skipped\n$/,
    ))

  it('names the slowest files', () => {
    const files = new Map(Array.from({ length: 20 }, (_, i) => [`test/${i}.test.ts`, i]))
    const text = renderSummary({ seconds: new Map(), files, skips: [], refused: [], counts })
    assert.match(text, /\nslowest files\n {5}19 s {2}test\/19\.test\.ts\n/)
    assert.equal(text.match(/ s {2}test\//g)?.length, 8)
  })

  it('names every skip, and counts it as a failure where it is refused', () => {
    const seconds = new Map<string, number>()
    assert.match(
      renderSummary({ seconds, files: new Map(), skips: [skip], refused: [], counts }),
      /\n {2}skipped {2}test\/x\.test\.ts: needs kubectl: kubectl is not installed\n10 passed, 0 failed, 1 skipped\n$/,
    )
    assert.match(
      renderSummary({ seconds, files: new Map(), skips: [skip], refused: [skip], counts }),
      /failed, skipped in CI {2}test\/x\.test\.ts: needs kubectl.*\n10 passed, 1 failed, 0 skipped\n$/,
    )
  })

  it('is read from the output of a reporter too', () =>
    assert.deepEqual(skipsIn('✔ a (1.2ms)\n  ﹣ needs moto (0.1ms) # moto is not installed\n﹣ b (2ms) # SKIP\n'), [
      { name: 'needs moto', reason: 'moto is not installed' },
      { name: 'b', reason: 'SKIP' },
    ]))

  it('says which suite took longer than it may', () =>
    assert.match(
      renderSummary({ seconds: new Map([['shipped', 400]]), files: new Map(), skips: [], refused: [], counts }),
      /shipped +400 s of +\d+ s {2}over budget\n/,
    ))

  it('allows to skip only what a machine cannot have, with a reason', () => {
    assert.ok(ALLOWED_SKIPS.every(({ because }) => because.length > 20))
    assert.equal(isAllowed({ name: 'needs terraform' }, ALLOWED_SKIPS), false)
    assert.equal(isAllowed({ name: 'needs tofu' }, ALLOWED_SKIPS), true)
  })
})

/** Runs a file in a copy of test/. */
function runFile(source: string, env: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'capt-suites-'))
  try {
    for (const name of ['run.ts', 'suites.ts', 'support/tools.ts', 'support/secrets/planted.ts']) {
      const text = readFileSync(join(root, 'test', name), 'utf8')
      spawnSync('mkdir', ['-p', join(folder, 'test/cli'), join(folder, 'test/support/secrets')])
      writeFileSync(join(folder, 'test', name), text)
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'test/cli/x.test.ts'), source)
    const { NODE_TEST_CONTEXT: _context, CI: _ci, ...clean } = process.env
    return spawnSync(process.execPath, [join(folder, 'test/run.ts')], { env: { ...clean, ...env }, encoding: 'utf8' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('a test file without its tool', () => {
  /** It wants a tool that nobody has. */
  const source = `import { it } from 'node:test'
import { findTool } from '../support/tools.ts'
it('is there', () => undefined)
if (findTool('no-such-tool')) it('uses it', () => undefined)
`

  it('is named in the summary', () => {
    const { status, stdout, stderr } = runFile(source)
    assert.equal(status, 0, stdout + stderr)
    assert.match(stdout, /skipped {2}test\/cli\/x\.test\.ts: needs no-such-tool/)
    assert.match(stdout, /\n1 passed, 0 failed, 1 skipped\n$/)
  })

  it('fails in CI', () => {
    const { status, stdout } = runFile(source, { CI: 'true' })
    assert.equal(status, 1)
    assert.match(stdout, /failed, skipped in CI {2}test\/cli\/x\.test\.ts: needs no-such-tool/)
    assert.match(stdout, /\n1 passed, 1 failed, 0 skipped\n$/)
  })
})

describe('a test file that prints a secret of the suites', () => {
  for (const [what, printed] of [
    ['as it is', "planted('printed')"],
    ['in base64', "Buffer.from(planted('printed')).toString('base64')"],
  ] as const)
    it(`fails the run: ${what}`, () => {
      const { status, stdout, stderr } = runFile(`import { it } from 'node:test'
import { planted } from '../support/secrets/planted.ts'
it('is there', () => console.log('password', ${printed}))
`)
      assert.equal(status, 1, stdout + stderr)
      assert.match(stdout, /\nsecrets that were printed\n {2}\S+\n1 passed, 1 failed, 0 skipped\n$/)
    })
})
