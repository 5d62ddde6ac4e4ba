// The page that leads a reader through the code names files and modules; they have to exist.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

describe('docs/architecture.md', () => {
  it('names only files that exist', () => {
    const named = [...page.matchAll(/`(src\/[\w./-]+\.ts)`/g)].map((match) => match[1]!)
    assert.ok(named.length > 15, 'the test must find the files of the page')
    assert.deepEqual(
      named.filter((file) => !existsSync(join(root, file))),
      [],
    )
  })

  it('has a row for every module, and no other', () => {
    const rows = [...page.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap((match) =>
      [...match[1]!.matchAll(/`(\w+)`/g)].map((name) => name[1]!),
    )
    const modules = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    assert.deepEqual(rows.sort(), modules.map((entry) => entry.name).sort())
  })
})
