// Bundles the program into dist/program: a tiny entry that costs no more than Node itself, and what it loads on demand.
// No downloads, no native code.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { leanBuiltins } from './lean-builtins.ts'

const root = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const outdir = join(root, 'dist', 'program')

/** The entry is bundled alone, so that it needs no helper of the rest. */
const startApart: Plugin = {
  name: 'start-apart',
  setup: ({ onResolve }) =>
    void onResolve({ filter: /^\.\/start\.ts$/ }, () => ({ path: './start.mjs', external: true })),
}

const shared = {
  absWorkingDir: root,
  outdir,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  outExtension: { '.js': '.mjs' },
  define: { CAPT_VERSION: JSON.stringify(process.env['VERSION'] ?? version) },
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
} as const satisfies BuildOptions

rmSync(outdir, { recursive: true, force: true })
const entry = await build({ ...shared, entryPoints: { capt: 'src/main.ts' }, plugins: [startApart] })
const rest = await build({
  ...shared,
  entryPoints: { start: 'src/start.ts' },
  splitting: true,
  chunkNames: 'chunk-[hash]',
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
  // The package's ES module: its CommonJS form loses its names when it is imported on demand.
  alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
  plugins: [leanBuiltins],
})
const outputs = [entry, rest].flatMap(({ metafile }) => Object.values(metafile.outputs))
const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0)
console.log(`Built capt ${version}: ${outputs.length} files, ${Math.round(bytes / 1024)} KiB`)
