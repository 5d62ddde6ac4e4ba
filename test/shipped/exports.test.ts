// Every chunk that the built program loads on demand has the names its importer uses. A CommonJS module that is imported
// on demand loses its names in the bundle, and nothing else notices before the import runs.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..', '..')

interface Import {
  readonly importer: string
  readonly imports: string
  readonly chunk?: string
}

/** The names that a module uses of what it imports on demand, or undefined where it passes the whole module on. */
export function usedNames(text: string, specifier: string): readonly string[] | undefined {
  const call = String.raw`\bimport\((?:/\*.*?\*/\s*)?["']${specifier.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}["'][^)]*\)`
  const sites = [...text.matchAll(new RegExp(call, 'g'))]
  assert.ok(sites.length > 0, `there is no import('${specifier}')`)
  const names = sites.map(({ index, 0: site }) => namesOfSite(text, index, index + site.length))
  return names.includes(undefined) ? undefined : [...new Set((names as string[][]).flat())]
}

function namesOfSite(text: string, start: number, end: number): readonly string[] | undefined {
  const before = text.slice(0, start)
  const destructured = /\{([^{}]*)\}\s*=\s*await\s+(?:\([^()]*(?:\([^()]*\)[^()]*)*)?$/.exec(before)
  if (destructured)
    return destructured[1]!
      .split(',')
      .map((name) => name.split(':')[0]!.trim())
      .filter((name) => name !== '')
  const member = /^\s*\)\.(\w+)/.exec(text.slice(end))
  if (/\(await\s+$/.test(before) && member) return [member[1]!]
  const variable = /\b(?:const|let|var)\s+(\w+)\s*=\s*await\s+$/.exec(before)
  if (variable)
    return [...text.slice(end).matchAll(new RegExp(String.raw`\b${variable[1]}\.(\w+)`, 'g'))].map((match) => match[1]!)
  const fulfilled = /^\s*\.then\(\s*\(?\s*\{([^{}]*)\}/.exec(text.slice(end))
  return fulfilled?.[1]?.split(',').map((name) => name.split(':')[0]!.trim())
}

describe('the names that a module uses of what it imports', () => {
  for (const [text, names] of [
    ["const { a, b: c } = await import('x')", ['a', 'b']],
    ["return await (await import('x')).start(options)", ['start']],
    ["const x = await import('x')\nnew x.Agent(x.request)", ['Agent', 'request']],
    ["const { start } = await (first ? import('y') : import('x'))", ['start']],
    ["import('x').then(({ a }) => a())", ['a']],
    ["() => import('x', { with: { type: 'json' } })", undefined],
  ] as const)
    it(`are ${names?.join(' and ') ?? 'all of them'} in ${JSON.stringify(text)}`, () =>
      assert.deepEqual(usedNames(text, 'x'), names))
})

describe('the built program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-exports-'))
  const sites = JSON.parse(readFileSync(join(root, 'dist/on-demand.json'), 'utf8')) as Import[]
  let exported: Readonly<Record<string, readonly string[]>>

  before(() => {
    cpSync(join(root, 'dist/program'), folder, { recursive: true })
    const chunks = [...new Set(sites.map(({ chunk }) => chunk)), 'heavy-re2.cjs', 'heavy-cel.cjs']
    const script = `const found = {}
      for (const chunk of ${JSON.stringify(chunks)}) found[chunk] = Object.entries(await import(\`./\${chunk}\`))
        .filter(([, value]) => value !== undefined).map(([name]) => name)
      process.stdout.write(JSON.stringify(found))`
    const answer = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: folder,
      env: { PATH: process.env['PATH'] },
      encoding: 'utf8',
    })
    exported = JSON.parse(answer) as typeof exported
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('imports on demand what signs for AWS', () => {
    const imported = new Set(sites.map(({ imports }) => imports))
    for (const name of ['@smithy/signature-v4', '@aws-sdk/credential-providers', 'yaml', 'node:http'])
      assert.ok(imported.has(name), `${name} is not among ${[...imported].join(', ')}`)
  })

  it('has every name that an importer uses, in the chunk it loads', async () => {
    const missing: string[] = []
    for (const { importer, imports, chunk } of sites) {
      assert.ok(chunk, `${importer} imports ${imports}, and no chunk stands for it`)
      const used = await namesOf(importer, imports)
      assert.ok(used.length > 0, `${importer} uses no name of ${imports}`)
      const lost = used.filter((name) => !exported[chunk]!.includes(name))
      if (lost.length > 0)
        missing.push(`${importer}: ${lost.join(', ')} of ${imports} (${chunk} has ${exported[chunk]!.join(', ')})`)
    }
    assert.deepEqual(missing, [])
  })

  it('has every name of what is loaded by require', () => {
    const fromEngine = createRequire(join(root, 'src/api/schema/lazy.ts'))
    for (const [file, module] of [
      ['heavy-re2.cjs', 're2js'],
      ['heavy-cel.cjs', './cel/index.ts'],
    ] as const) {
      const wanted = Object.keys(fromEngine(module) as object).filter((name) => name !== 'default')
      assert.ok(wanted.length > 0)
      assert.deepEqual(
        wanted.filter((name) => !exported[file]!.includes(name)),
        [],
        file,
      )
    }
  })
})

async function namesOf(importer: string, imports: string): Promise<readonly string[]> {
  // The entry imports the other bundles by the names of their files.
  const specifier = importer === 'src/main.ts' ? imports.replace(/mjs$/, 'ts') : imports
  const used = usedNames(readFileSync(join(root, importer), 'utf8'), specifier)
  if (used) return used
  assert.match(imports, /^\./, `${importer} passes ${imports} on as a whole: which names does it use?`)
  if (imports.endsWith('.json')) return ['default']
  const source = pathToFileURL(join(root, dirname(importer), imports)).href
  return Object.keys((await import(source)) as object)
}
