import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseErrorSections, renderErrorPage } from '../../../scripts/error-page.ts'
import { errorSections, generatedFiles, leftovers } from '../../../scripts/generated.ts'

const root = join(import.meta.dirname, '../../..')

function sources(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) return sources(path)
    return /\.tsx?$/.test(entry.name) && !/\.test\.tsx?$/.test(entry.name) ? [path] : []
  })
}

/** Codes that the program can print: every literal that looks like one, except names of environment variables. */
function codesIn(text: string): string[] {
  return [...text.matchAll(/(?<!env\[)'(CAPT_[A-Z0-9_]*[A-Z0-9])'/g)].map((match) => match[1]!)
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

describe('generated files', () => {
  it('are up to date', () => {
    const stale = [...generatedFiles(root)]
      .filter(([path, text]) => read(join(root, path)) !== text)
      .map(([path]) => path)
    assert.deepEqual(stale, [], 'run npm run generate and commit the result')
  })

  it('belong to something that still exists', () => assert.deepEqual(leftovers(root), []))
})

describe('docs/errors.md', () => {
  it('has one section for every code that the program can print', () => {
    const used = new Set(sources(join(root, 'src')).flatMap((path) => codesIn(readFileSync(path, 'utf8'))))
    const documented = parseErrorSections(errorSections(root)).map(({ code }) => code)
    const missing = [...used].filter((code) => !documented.includes(code)).sort()
    assert.deepEqual(missing, [], 'add a section to docs/errors.d')
    assert.deepEqual(
      documented.filter((code, i) => documented.indexOf(code) !== i),
      [],
      'each code is explained once',
    )
  })

  it('lists the codes in order and keeps what each module wrote', () => {
    const page = renderErrorPage(['## CAPT_B\n\nSecond.\n', '## CAPT_A\n\nFirst.\n'])
    assert.ok(page.indexOf('- [CAPT_A](#capt_a)') < page.indexOf('- [CAPT_B](#capt_b)'))
    assert.ok(page.indexOf('First.') < page.indexOf('Second.'))
  })
})
