import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { toYaml, toYamlDocuments } from './write.ts'

const SRC = join(import.meta.dirname, '../..')
/** Each is something else in one of the two versions of YAML when it is bare. */
const TEXTS =
  'yes no on off y n Y N Yes NO On OFF true False null ~ 012 0o14 0x1F 1_000 12:30 190:20:30 1e3 .5 .inf .nan 2026-11-18 << = - ? : # * & ! | > % @ ` {} []'
    .split(' ')
    .concat(['', ' ', 'a: b', 'a #b', "it's", '"quoted"', 'two\nlines\n', '\ttab', 'trailing '])

describe('YAML that capt writes', () => {
  for (const version of ['1.1', '1.2'] as const)
    it(`is read as it was meant by readers of YAML ${version}`, () => {
      for (const text of TEXTS) {
        const value = { text, list: [text], [text]: 'key' }
        assert.deepEqual(parse(toYaml(value), { version }), value, JSON.stringify(text))
      }
      const data = { count: 12, ratio: 0.5, flag: true, none: null, empty: [], nothing: {} }
      assert.deepEqual(parse(toYaml(data), { version }), data)
    })

  it('leaves long lines and repeated objects whole', () => {
    const line = 'word '.repeat(60).trim()
    const shared = { line }
    assert.equal(toYaml({ a: shared, b: shared }), `a:\n  line: ${line}\nb:\n  line: ${line}\n`)
  })

  it('has one document per object', () => {
    const all = parseAllDocuments(toYamlDocuments([{ a: 1 }, { b: 2 }])).map((document) => document.toJS())
    assert.deepEqual(all, [{ a: 1 }, { b: 2 }])
  })

  it('is written nowhere else', () => {
    const others = globSync('**/*.ts', { cwd: SRC }).filter(
      (file) => !/\.test\.ts$|^api\/manifest\/write\.ts$/.test(file),
    )
    const writes = /import \{[^}]*\bstringify\b[^}]*\} from 'yaml'|\{[^}]*\bstringify\b[^}]*\} = await import\('yaml'\)/
    assert.deepEqual(
      others.filter((file) => writes.test(readFileSync(join(SRC, file), 'utf8'))),
      [],
    )
  })
})
