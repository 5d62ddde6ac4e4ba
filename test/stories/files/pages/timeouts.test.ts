// docs/timeouts.md has every default timeout; that it is up to date is a matter of generated files.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ALL_KINDS, type Kind } from '#api'
import { TIMEOUTS_BY_SECTION } from '../../../../scripts/timeouts.ts'

const root = join(import.meta.dirname, '../../../..')
const rows = TIMEOUTS_BY_SECTION.flatMap((section) => section.rows)
const msOf = (name: string) => rows.find((row) => row.name.endsWith(name))!.ms

/** `parent.field` of every time limit that has a default. */
function fieldsIn(schema: Kind['schema'], parent = ''): readonly string[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const isLimit = /timeout|deadline/i.test(name) && property.default !== undefined
    return [...(isLimit ? [`${parent}.${name}`] : []), ...fieldsIn(property, name)]
  })
  return schema.items ? [...below, ...fieldsIn(schema.items, `${parent}[]`)] : below
}

describe('The table of default timeouts', () => {
  for (const kind of ALL_KINDS)
    it(`has those of ${kind.kind}`, () => {
      const missing = fieldsIn(kind.schema).filter((field) => !rows.some(({ name }) => name.endsWith(field)))
      assert.deepEqual(missing, [], 'add it to scripts/timeouts.ts, with the figure it rests on')
    })

  it('has the constants of controllers', () => {
    const pattern =
      /^(?:export )?const ((?!LEAST_)\w*(?:TIMEOUT|LIMIT|DEADLINE|UNREACHABLE|DEAD|STUCK)\w*(?<!RETRY)_(?:MS|SECONDS)) =/gm
    const files = globSync('src/controllers/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
    const found = files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map((one) => one[1]!),
    )
    assert.ok(found.length > 5)
    assert.deepEqual(
      found.filter((name) => !rows.some((row) => row.name === name)),
      [],
    )
  })

  it('rests on a figure of its own kind: measured times fit often, published ones have an address', () => {
    for (const { name, ms, figures } of rows)
      for (const figure of figures) {
        if (figure.basis === 'measured') assert.ok(figure.ms! * 5 <= ms, `${name}: ${figure.text}`)
        if (figure.basis === 'published') assert.match(figure.text, /\]\(https:/, name)
      }
  })

  it('leaves each limit room for those inside it', () => {
    const stage = msOf('spec.stages[].timeout')
    assert.ok(stage > msOf('karpenter.timeout'), 'a stage lasts longer than its Helm action')
    assert.ok(stage > msOf('readinessJob.deadline'))
    assert.ok(stage > msOf('verify.timeout'))
    assert.ok(msOf('spec.deletionTimeout') > msOf('spec.timeout'), 'a destroy may take as long as a run')
    assert.ok(msOf('spec.teardown.timeout') > msOf('STUCK_MS'))
    assert.ok(
      msOf('ADDON_TEARDOWN_LIMIT_SECONDS') > 2 * msOf('spec.teardown.timeout'),
      'nodes may take twice their time',
    )
  })
})
