// Which module may import which, and what holds for every folder and file: size, no cycles, no unused exports.
// `port` means: types, what the other module's port.ts exports, and the functions listed for it below.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import {
  exportsOf,
  findCycles,
  findUnusedExports,
  type Import,
  importsOf,
  readSources,
  type Sources,
} from '../test/support/modules/source-graph.ts'

type Access = 'open' | 'port'
type ImportTable = Readonly<Record<string, Readonly<Record<string, Access>>>>

const IMPORTS: ImportTable = {
  lib: {},
  api: { lib: 'open' },
  aws: { catalog: 'open', lib: 'open' },
  catalog: { lib: 'open' },
  kube: { api: 'open', lib: 'open' },
  view: { api: 'open', catalog: 'open', engine: 'port', kube: 'port', lib: 'open' },
  apiserver: { api: 'open', lib: 'open' },
  engine: { api: 'open', kube: 'port', lib: 'open' },
  runtime: { api: 'open', kube: 'port', lib: 'open' },
  karpenter: { api: 'open', aws: 'open', catalog: 'open', engine: 'port', kube: 'port', lib: 'open' },
  controllers: {
    api: 'open',
    kube: 'port',
    engine: 'port',
    aws: 'port',
    runtime: 'open',
    catalog: 'open',
    lib: 'open',
  },
  core: { api: 'open', kube: 'port', runtime: 'open', lib: 'open' },
  simulation: { api: 'open', kube: 'port', runtime: 'open', lib: 'open' },
  server: { api: 'open', dashboard: 'port', engine: 'open', kube: 'open', lib: 'open', view: 'open' },
  dashboard: { view: 'port' },
  doctor: {
    api: 'open',
    aws: 'open',
    catalog: 'open',
    controllers: 'open',
    engine: 'open',
    kube: 'open',
    lib: 'open',
    view: 'open',
  },
  import: { api: 'open', engine: 'open', kube: 'open', lib: 'open' },
  move: { api: 'open', kube: 'open', lib: 'open' },
  notify: { api: 'open', kube: 'port', lib: 'open' },
  upgrade: { api: 'open', catalog: 'open', kube: 'port', lib: 'open', view: 'open' },
  app: {
    api: 'open',
    apiserver: 'open',
    aws: 'open',
    controllers: 'open',
    core: 'open',
    doctor: 'open',
    engine: 'open',
    karpenter: 'open',
    kube: 'open',
    lib: 'open',
    notify: 'open',
    runtime: 'open',
    server: 'open',
    simulation: 'open',
  },
  cli: {
    app: 'open',
    doctor: 'open',
    import: 'open',
    move: 'open',
    upgrade: 'open',
    api: 'open',
    kube: 'open',
    view: 'open',
    engine: 'open',
    karpenter: 'open',
    catalog: 'open',
    lib: 'open',
  },
  // Files directly below src/, by their names: the program itself.
  'main.ts': { lib: 'open' },
  'process-io.ts': { cli: 'open', lib: 'open' },
  'start.ts': { cli: 'open', kube: 'open' },
  'start-runner.ts': { cli: 'open' },
}

/** Functions that users of a port may call: they decide or read one object, and start nothing. */
const PORT_FUNCTIONS: Readonly<Record<string, readonly string[]>> = {
  engine: [
    'DEFAULT_GUARD',
    'backoffSeconds',
    'checksKey',
    'credentialRefusals',
    'credentialsFingerprint',
    'faultPolicy',
    'isAsApplied',
    'isCheckInterrupted',
    'isUnproven',
    'policyHash',
    'readSource',
    'renderWorkspace',
    'scanHcl',
    'undeclaredValues',
    'workspaceNameOf',
    'workspaceSources',
  ],
}

/** Exports that no file of the repository imports by name, and who uses them. */
const ENTRY_POINTS: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  { pattern: /^src\/api\/schema\/cel\/index\.ts: /, reason: 'loaded on demand through src/api/schema/lazy.ts' },
  { pattern: /^src\/cli\/commands\/[\w/-]+\.ts: command$/, reason: 'loaded by src/cli/commands.generated.ts' },
]

/** A folder beyond this many files gets sub-folders. Tests beside their source do not count; in test/ every file does. */
const MOST_FILES = 16

const ROOT = join(import.meta.dirname, '..')
const SOURCES = readSources(ROOT, ['src', 'test', 'scripts', 'bench'])
const PRODUCT = [...SOURCES.keys()].filter((file) => file.startsWith('src/') && !isTest(file))

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file) || /^src\/(kube|engine)\/contract[./]/.test(file) || file.startsWith('src/testing/')
}

/** The row of the table that a file belongs to: its folder, or the file itself. */
const moduleOf = (file: string): string => file.split('/')[1]!

/** `engine` for `#engine`, and for a path from a root file into the folder; undefined within the module. */
function moduleNamedBy(one: Import): string | undefined {
  if (one.target.startsWith('#')) return one.target.slice(1)
  const isRoot = one.file.split('/').length === 2
  const [first, ...rest] = one.target.replace(/^\.\//, '').split('/')
  return isRoot && one.target.startsWith('./') && rest.length > 0 ? first : undefined
}

function leavesModule({ file, target }: Import): boolean {
  if (!target.startsWith('.')) return false
  const depth = file.split('/').length - 3
  return target.split('/').filter((part) => part === '..').length > Math.max(depth, 0)
}

/** Sentences about imports that the table does not allow. `portOf` returns what the port.ts of a module exports. */
function findForbidden(imports: readonly Import[], table: ImportTable, portOf: (module: string) => Set<string>) {
  return imports.flatMap((one): string[] => {
    const { file, target, names } = one
    const own = moduleOf(file)
    if (own === 'testing') return []
    if (leavesModule(one)) return [`${file}: ${target} is outside the module ${own}`]
    const other = moduleNamedBy(one)
    if (other === undefined) return []
    if (other === own) return [`${file}: imports its own module by ${target}`]
    const access = table[own]?.[other]
    if (isTest(file) && (access === undefined || other === 'testing')) return []
    if (access === undefined) return [`${file}: the module ${own} may not import ${target}`]
    if (access === 'open' || isTest(file)) return []
    const exported = portOf(other)
    const inner = names.filter((name) => !exported.has(name))
    return inner.length > 0 ? [`${file}: ${inner.join(', ')} of ${target} is not part of its port`] : []
  })
}

/** `a → b` of permissions that no file needs. */
function findUnusedPermissions(imports: readonly Import[], table: ImportTable): string[] {
  const used = new Set(imports.map((one) => `${moduleOf(one.file)} → ${moduleNamedBy(one)}`))
  return Object.entries(table)
    .flatMap(([own, row]) => Object.keys(row).map((other) => `${own} → ${other}`))
    .filter((permission) => !used.has(permission))
}

const importsOfAll = (files: readonly string[]): Import[] =>
  files.flatMap((file) => importsOf(file, SOURCES.get(file)!))

describe('modules', () => {
  it('import only what the table allows', () => {
    const imports = importsOfAll([...SOURCES.keys()].filter((file) => file.startsWith('src/')))
    assert.ok(imports.length > 1000, 'the test must read the imports that it checks')
    const portOf = (module: string) =>
      new Set([...exportsOf(SOURCES.get(`src/${module}/port.ts`) ?? ''), ...(PORT_FUNCTIONS[module] ?? [])])
    const rootTests = imports.filter(({ file }) => !/^src\/[^/]+\.test\.ts$/.test(file))
    assert.deepEqual(findForbidden(rootTests, IMPORTS, portOf), [])
  })

  it('need every function that is listed for a port', () => {
    const used = new Set(importsOfAll(PRODUCT).flatMap(({ target, names }) => names.map((name) => `${target} ${name}`)))
    const listed = Object.entries(PORT_FUNCTIONS).flatMap(([module, names]) =>
      names.map((name) => `#${module} ${name}`),
    )
    assert.deepEqual(
      listed.filter((one) => !used.has(one)),
      [],
    )
  })

  it('need every permission of the table', () => {
    assert.deepEqual(findUnusedPermissions(importsOfAll(PRODUCT), IMPORTS), [])
  })

  it('have a row in the table, and so has every file directly below src/', () => {
    const names = readdirSync(join(ROOT, 'src')).filter((name) => name !== 'testing' && !name.endsWith('.test.ts'))
    assert.deepEqual(Object.keys(IMPORTS).sort(), names.sort())
  })

  for (const [what, file, source, complaint] of [
    ['a forbidden module', 'src/lib/x.ts', "import { s } from '#api'", 'the module lib may not import #api'],
    [
      'a path out of the module',
      'src/view/x.ts',
      "import { a } from '../kube/client.ts'",
      '../kube/client.ts is outside the module view',
    ],
    [
      'more than a port',
      'src/engine/x.ts',
      "import { connect } from '#kube'",
      'connect of #kube is not part of its port',
    ],
    [
      'test builders in the product',
      'src/api/x.ts',
      "import { a } from '#testing'",
      'the module api may not import #testing',
    ],
    ['a dynamic import', 'src/core/x.ts', "await import('#engine')", 'the module core may not import #engine'],
    [
      'a root file',
      'src/main.ts',
      "import { run } from './cli/run.ts'",
      'the module main.ts may not import ./cli/run.ts',
    ],
    ['its own index', 'src/kube/x.ts', "import { connect } from '#kube'", 'imports its own module by #kube'],
  ] as const) {
    it(`report ${what}`, () => {
      const found = findForbidden(importsOf(file, source), IMPORTS, () => new Set(['Objects']))
      assert.deepEqual(found, [`${file}: ${complaint}`])
    })
  }

  it('report a permission that nobody needs', () => {
    const imports = importsOf('src/view/x.ts', "import { a } from '#api'")
    assert.deepEqual(findUnusedPermissions(imports, { view: { api: 'open', kube: 'port' } }), ['view → kube'])
  })
})

/** `folder: count` of folders that hold too many files. */
function findCrowdedFolders(files: readonly string[]): string[] {
  const counted = files.filter((file) => !(file.startsWith('src/') && file.endsWith('.test.ts')))
  return Object.entries(Object.groupBy(counted, dirname))
    .filter(([, inside]) => inside!.length > MOST_FILES)
    .map(([folder, inside]) => `${folder}: ${inside!.length}`)
}

/** Files that pass on another one with `export *` and hold code of their own; generated lists aside. */
function findMixedLists(sources: Sources): string[] {
  const ownCode = (source: string) => source.replace(/^\/\/.*$|^export [^=;()]*? from '[^']+'$/gm, '').trim() !== ''
  return [...sources].flatMap(([file, source]) =>
    importsOf(file, source).some(({ isStar }) => isStar) && !source.startsWith('// Generated') && ownCode(source)
      ? [file]
      : [],
  )
}

describe('folders', () => {
  it(`of src and test hold at most ${MOST_FILES} files`, () => {
    const files = [...SOURCES.keys()].filter((file) => /^(src|test)\//.test(file))
    assert.deepEqual(findCrowdedFolders(files), [])
  })

  it('with too many files are reported', () => {
    const names = Array.from({ length: MOST_FILES }, (_, at) => `src/a/${at}.ts`)
    assert.deepEqual(findCrowdedFolders([...names, 'src/a/0.test.ts', 'src/a/b/1.ts']), [])
    assert.deepEqual(findCrowdedFolders([...names, 'src/a/more.ts']), [`src/a: ${MOST_FILES + 1}`])
  })
})

describe('files', () => {
  it('use export * in plain lists alone', () => {
    assert.deepEqual(findMixedLists(SOURCES), [])
    const list = "// A list.\nexport * from './one.ts'\nexport {\n  two,\n  type Three,\n} from './two.ts'\n"
    assert.deepEqual(findMixedLists(new Map([['src/a/index.ts', list]])), [])
    assert.deepEqual(findMixedLists(new Map([['src/a/index.ts', `${list}export const four = 4\n`]])), [
      'src/a/index.ts',
    ])
  })

  it('do not import each other in a circle, types aside', () => {
    assert.deepEqual(findCycles(SOURCES), [])
  })

  it('export nothing that nobody imports', () => {
    const unused = findUnusedExports(SOURCES, PRODUCT)
    const isEntryPoint = (name: string) => ENTRY_POINTS.some(({ pattern }) => pattern.test(name))
    assert.deepEqual(
      unused.filter((name) => !isEntryPoint(name)),
      [],
    )
    for (const { pattern } of ENTRY_POINTS)
      assert.ok(
        unused.some((name) => pattern.test(name)),
        `${pattern}`,
      )
  })

  const planted = new Map([
    ['src/a/index.ts', "export * from './one.ts'\nexport { two as second } from './two.ts'\n"],
    ['src/a/one.ts', "import { two } from './two.ts'\nexport const one = two\nexport const unused = 1\n"],
    ['src/a/two.ts', "import { one } from './one.ts'\nexport const two = () => one\nexport type Only = 1\n"],
    ['src/a/three.ts', "import { one, type Only } from '#a'\nimport type { Only as T } from './two.ts'\n"],
  ])

  it('that import each other are reported', () => {
    assert.deepEqual(findCycles(planted), ['src/a/one.ts → src/a/two.ts → src/a/one.ts'])
    const typeOnly = new Map([...planted, ['src/a/two.ts', "import type { one } from './one.ts'\n"] as const])
    assert.deepEqual(findCycles(typeOnly), [])
  })

  it('with unused exports are reported, also behind a list of exports', () => {
    assert.deepEqual(findUnusedExports(planted, [...planted.keys()]), [
      'src/a/index.ts: second',
      'src/a/one.ts: unused',
    ])
  })
})
