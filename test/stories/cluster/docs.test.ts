// The page about clusters is true: every manifest in it is accepted, and every word in code that is ours exists.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { checkManifests, readManifests } from '#api'
import { COMMANDS } from '#cli'

const ROOT = join(import.meta.dirname, '../../..')
const page = readFileSync(join(ROOT, 'docs/clusters.md'), 'utf8')
const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)

describe('docs/clusters.md', () => {
  for (const [index, text] of blocks.entries())
    it(`shows manifests that are accepted (block ${index + 1})`, () => {
      const manifests = readManifests(text, 'docs/clusters.md')
      assert.ok(manifests.length > 0)
      assert.deepEqual(checkManifests(manifests), [])
    })

  it('has blocks at all', () => assert.ok(blocks.length >= 3))

  it('names commands that exist', () => {
    const names = [...page.matchAll(/`capt ([a-z]+)/g)].map(([, name = '']) => name)
    assert.ok(names.length > 4)
    const known = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]))
    assert.deepEqual(
      names.filter((name) => !known.has(name)),
      [],
    )
  })

  it('links to pages that exist', () => {
    for (const [, target = ''] of page.matchAll(/\]\(([^)#]+)[^)]*\)/g)) readTarget(join(ROOT, 'docs', target))
  })
})

function readTarget(path: string): void {
  try {
    readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error
  }
}
