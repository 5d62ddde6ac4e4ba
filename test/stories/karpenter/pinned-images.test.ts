// No file that ships lets nodes follow every image that AWS publishes: each one would replace the whole fleet.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '../../..')
const SHIPPED = ['src', 'scripts', 'templates', 'modules', 'config', 'charts', 'examples', 'docs', 'README.md']

/** Reads tracked and new files alike, without tests and what they compare with. */
const filesOf = (folders: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...folders], { cwd: root })
    .toString()
    .split('\n')
    .filter((name) => name !== '' && !/\.test\.ts$|\/testdata\/|\.(png|gz|ico)$/.test(name))

/** An error of Karpenter where it is explained, and what earlier releases stored. */
const QUOTED = ['failed to resolve alias al2@latest', 'Pipelines stored by earlier releases name']

it('nothing that ships follows the newest image', () => {
  const files = filesOf(SHIPPED)
  assert.ok(files.length > 500, `${files.length} files`)
  const found = files.flatMap((name) =>
    readFileSync(join(root, name), 'utf8')
      .split('\n')
      .filter((line) => /\b(al2|al2023|bottlerocket)@latest/.test(line) && !QUOTED.some((one) => line.includes(one)))
      .map((line) => `${name}: ${line.trim()}`),
  )
  assert.deepEqual(found, [])
})
