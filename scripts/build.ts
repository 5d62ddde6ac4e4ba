// Bundles the program into dist/: one entry and the chunks it loads on demand. No downloads, no native code.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { leanBuiltins } from './lean-builtins.ts'

const root = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const outdir = join(root, 'dist', 'program')

rmSync(outdir, { recursive: true, force: true })
const result = await build({
  absWorkingDir: root,
  entryPoints: { capt: 'src/main.ts' },
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  outExtension: { '.js': '.mjs' },
  chunkNames: 'chunk-[hash]',
  define: { CAPT_VERSION: JSON.stringify(process.env['VERSION'] ?? version) },
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
  // The package's ES module: its CommonJS form loses its names when it is imported on demand.
  alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
  plugins: [leanBuiltins],
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
})
const bytes = Object.values(result.metafile.outputs).reduce((sum, output) => sum + output.bytes, 0)
console.log(
  `Built capt ${version}: ${Object.keys(result.metafile.outputs).length} files, ${Math.round(bytes / 1024)} KiB`,
)
