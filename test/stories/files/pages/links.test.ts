// Links between the pages lead somewhere, and the README says of the real suites what they are.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { VERSIONS } from '../../../real/support/lab.ts'

const root = join(import.meta.dirname, '../../../..')
// The sections in docs/errors.d are parts of docs/errors.md, and their links are seen from there.
const pages = globSync(['*.md', 'docs/**/*.md', 'modules/karpenter/*.md', 'charts/capt/*.md'], { cwd: root })
  .filter((page) => !page.startsWith('docs/errors.d/'))
  .sort()
const read = (page: string): string => readFileSync(join(root, page), 'utf8')
const withoutCode = (text: string): string =>
  text.replace(/^\s*```[\s\S]*?^\s*```$/gm, '').replace(/`[^`\n]*`/g, 'code')

/** As GitHub makes an anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
const anchors = new Map(
  pages.map((page) => {
    const lines = read(page)
      .replace(/^```[\s\S]*?^```$/gm, '')
      .split('\n')
    return [page, new Set(lines.flatMap((line) => /^#+ (.+)$/.exec(line)?.[1] ?? []).map(anchorOf))]
  }),
)

describe('The pages', () => {
  it('link to files and headings that are there', () => {
    const broken: string[] = []
    let count = 0
    for (const page of pages)
      for (const [, target] of withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target!)) continue
        count++
        const [path = '', anchor] = target!.split('#')
        const file = path === '' ? page : relative(root, join(root, dirname(page), path))
        if (!existsSync(join(root, file))) broken.push(`${page}: ${target}`)
        else if (anchor !== undefined && anchors.get(file)?.has(anchor) === false)
          broken.push(`${page}: ${target} has no such heading`)
      }
    assert.ok(count > 100)
    assert.deepEqual(broken, [])
  })

  it('lead from the README to every page of docs', () => {
    const linked = read('README.md')
    const missing = pages
      .filter((page) => /^docs\/[^/]+\.md$/.test(page) && !/\.(ja|ko)\.md$/.test(page))
      .filter((page) => !linked.includes(`](${page})`))
    assert.deepEqual(missing, [])
  })

  it('say in the README on which versions the real suites run, and that no real account is among it', () => {
    const text = read('README.md')
    const { kube, capi } = VERSIONS
    const [newest, oldest] = capi.map((version) => version.slice(1))
    assert.ok(text.includes(`kube-apiserver ${kube.slice(1)}, Cluster API ${newest} and ${oldest}`))
    assert.match(text, /\*\*a cluster on a real AWS account\*\* \| \*\*nothing yet\*\*/)
  })
})
