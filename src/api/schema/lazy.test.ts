import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { build } from 'esbuild'

const api = join(import.meta.dirname, '..', 'index.ts')
const folder = mkdtempSync(join(tmpdir(), 'capt-lazy-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const run = (file: string) => execFileSync(process.execPath, [file], { encoding: 'utf8', timeout: 30_000 }).trim()

describe('opening the api room', () => {
  it('loads neither CEL, nor RE2, nor YAML until a value is checked by them', () => {
    const script = join(folder, 'opened.mjs')
    writeFileSync(
      script,
      `import { registerHooks } from 'node:module'
       const seen = []
       registerHooks({ load: (url, context, next) => (seen.push(url), next(url, context)) })
       const { compileSchema } = await import(${JSON.stringify(api)})
       const heavy = () => ['cel-js', 're2js', '/yaml/'].filter((name) => seen.some((url) => url.includes(name)))
       const before = heavy()
       compileSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^a', 'x-kubernetes-validations': [{ rule: 'self != ""' }] } } })
       console.log(JSON.stringify([before, heavy()]))`,
    )
    assert.deepEqual(JSON.parse(run(script)), [[], ['cel-js', 're2js']])
  })

  it('works in a bundle, where no module can be loaded from a folder', async () => {
    const entry = join(folder, 'entry.ts')
    writeFileSync(
      entry,
      `import { compileSchema, readManifests } from ${JSON.stringify(api)}
       const engine = compileSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^a', 'x-kubernetes-validations': [{ rule: 'self.size() < 3', message: 'short' }] } } })
       console.log(engine.validate({ a: 'abc' })[0].message, engine.validate({ a: 'b' })[0].message, readManifests('apiVersion: v1\\nkind: Pod', 'f')[0].object.kind)`,
    )
    const outfile = join(folder, 'bundle', 'out.mjs')
    await build({
      entryPoints: [entry],
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      outdir: join(folder, 'bundle'),
      entryNames: 'out',
      splitting: true,
      minify: true,
      outExtension: { '.js': '.mjs' },
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
      },
      logLevel: 'silent',
    })
    assert.equal(
      run(outfile),
      `a: Invalid value: "string": short a: Invalid value: "b": a in body should match '^a' Pod`,
    )
  })
})
