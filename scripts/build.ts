// Bundles the program into dist/program: a tiny entry that costs no more than Node itself, and what it loads on demand.
// No downloads, no native code.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { lateBuiltins, leanBuiltins, loadBuiltinsLate } from './lean-builtins.ts'

const root = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const outdir = join(root, 'dist', 'program')

/** The entry is bundled alone, so that it needs no helper of the rest. */
const startApart: Plugin = {
  name: 'start-apart',
  setup: ({ onResolve }) =>
    void onResolve({ filter: /^\.\/start(-runner)?\.ts$/ }, ({ path }) => ({
      path: path.replace(/ts$/, 'mjs'),
      external: true,
    })),
}

/** Our files do nothing when they are loaded, so what a program does not use of them need not be in it. */
const onlyWhatIsUsed: Plugin = {
  name: 'only-what-is-used',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^(#|\.\.?\/)/ }, async ({ path, pluginData, ...where }) => {
      if (pluginData === onlyWhatIsUsed) return undefined
      const found = await resolve(path, { ...where, pluginData: onlyWhatIsUsed })
      return found.path.startsWith(join(root, 'src')) ? { ...found, sideEffects: false } : found
    })
  },
}

/** What is loaded by `require` when a value is first checked by it: even unread, its text would lie in a manager's memory. */
const HEAVY = { re2js: './heavy-re2.cjs', './cel/index.ts': './heavy-cel.cjs' } as const
const heavyApart: Plugin = {
  name: 'heavy-apart',
  setup: ({ onResolve }) =>
    void onResolve({ filter: /^(re2js|\.\/cel\/index\.ts)$/ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: HEAVY[path as keyof typeof HEAVY], external: true },
    ),
}

/** A runner hardly ever requires anything, and the loader for it takes its time. */
const REQUIRE_LATE =
  "const require = (id) => process.getBuiltinModule('node:module').createRequire(import.meta.url)(id);"

const shared = {
  absWorkingDir: root,
  outdir,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // ES modules where a package has them: a CommonJS package that is imported on demand exports nothing but `default`.
  mainFields: ['module', 'main'],
  outExtension: { '.js': '.mjs' },
  define: { CAPT_VERSION: JSON.stringify(process.env['VERSION'] || version) },
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
} as const satisfies BuildOptions

/** Every `import()` of a build: the module that has it, what it imports, and the chunk that answers. */
function onDemand({ inputs, outputs }: Metafile): { importer: string; imports: string; chunk: string }[] {
  const chunkOf = new Map(Object.entries(outputs).map(([path, { entryPoint }]) => [entryPoint, basename(path)]))
  return Object.entries(inputs).flatMap(([importer, { imports }]) =>
    imports
      .filter(({ kind }) => kind === 'dynamic-import')
      .map(({ path, original, external }) => ({
        importer,
        imports: original ?? path,
        chunk: external ? basename(path) : chunkOf.get(path)!,
      })),
  )
}

rmSync(outdir, { recursive: true, force: true })
const entry = await build({ ...shared, entryPoints: { capt: 'src/main.ts' }, plugins: [startApart] })
const loaded = {
  ...shared,
  splitting: true,
  chunkNames: 'chunk-[hash]',
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
  // The package's ES module: its CommonJS form loses its names when it is imported on demand.
  alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
} as const satisfies BuildOptions
const rest = await build({
  ...loaded,
  entryPoints: { start: 'src/start.ts' },
  plugins: [heavyApart, leanBuiltins],
  // The text of a program stays in the memory of its process. Lines stay short enough for a stack trace to point at one.
  minifyWhitespace: true,
  lineLimit: 160,
})
const runner = await build({
  ...loaded,
  entryPoints: { 'start-runner': 'src/start-runner.ts' },
  plugins: [heavyApart, lateBuiltins, onlyWhatIsUsed],
  banner: { js: REQUIRE_LATE },
})
const startRunner = join(outdir, 'start-runner.mjs')
writeFileSync(startRunner, loadBuiltinsLate(readFileSync(startRunner, 'utf8')))
const heavy = await build({
  ...shared,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  entryPoints: { 'heavy-re2': 're2js', 'heavy-cel': 'src/api/schema/cel/index.ts' },
  plugins: [heavyApart],
})
// The page in the browser: a file each for markup, script, style and icon, served by capt dashboard.
const page = await build({
  absWorkingDir: root,
  outdir: join(outdir, 'page'),
  entryPoints: { page: 'src/dashboard/main.tsx', style: 'src/dashboard/style/page.css' },
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  // An image is built without the tsconfig of the root, which that of the page extends.
  tsconfigRaw: {},
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
})
for (const name of ['index.html', 'icon.svg'])
  copyFileSync(join(root, 'src', 'dashboard', name), join(outdir, 'page', name))
// capt demo applies them.
for (const name of ['simulation.yaml', 'node-pool.yaml', 'machines.yaml'])
  copyFileSync(join(root, 'examples', name), join(outdir, name))
// capt up creates them in a new home.
mkdirSync(join(outdir, 'templates'), { recursive: true })
for (const name of ['vpc', 'eks-controlplane'])
  copyFileSync(join(root, 'templates', `${name}.yaml`), join(outdir, 'templates', `${name}.yaml`))
const builds = [entry, rest, runner, heavy].map(({ metafile }) => metafile)
// Beside the program, not in it: which chunk stands for which module that is imported on demand.
writeFileSync(join(root, 'dist', 'on-demand.json'), `${JSON.stringify(builds.flatMap(onDemand), null, 2)}\n`)
const outputs = [...builds, page.metafile].flatMap((metafile) => Object.values(metafile.outputs))
const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0)
console.log(`Built capt ${version}: ${outputs.length} files, ${Math.round(bytes / 1024)} KiB`)
