// The house has doors. This table says which room may open which; the test reads every import and holds it to that.
// `port` means: only what the other room's port.ts exports, or types.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

type Access = 'open' | 'port'
type Doors = Readonly<Record<string, Readonly<Record<string, Access>>>>

export const DOORS: Doors = {
  lib: {},
  api: { lib: 'open' },
  aws: { lib: 'open' },
  catalog: { lib: 'open' },
  kube: { api: 'open', lib: 'open' },
  view: { api: 'open', lib: 'open' },
  apiserver: { api: 'open', lib: 'open' },
  engine: { api: 'open', kube: 'port', lib: 'open' },
  runtime: { api: 'open', kube: 'port', lib: 'open' },
  addons: { api: 'open', kube: 'port', runtime: 'open', catalog: 'open', lib: 'open' },
  karpenter: { api: 'open', kube: 'port', engine: 'port', aws: 'port', catalog: 'open', lib: 'open' },
  controllers: {
    api: 'open',
    kube: 'port',
    engine: 'port',
    aws: 'port',
    runtime: 'open',
    addons: 'open',
    catalog: 'open',
    lib: 'open',
  },
  core: { api: 'open', kube: 'port', runtime: 'open', lib: 'open' },
  simulation: { api: 'open', kube: 'port', runtime: 'open', lib: 'open' },
  server: { api: 'open', kube: 'open', view: 'open', lib: 'open' },
  cli: { api: 'open', kube: 'open', view: 'open', engine: 'open', karpenter: 'open', catalog: 'open', lib: 'open' },
  dashboard: { api: 'port', view: 'open' },
}

export interface Import {
  readonly file: string
  readonly target: string
  readonly names: readonly string[]
  readonly typeOnly: boolean
}

const IMPORT = /^(?:import|export)\s+(type\s+)?([\s\S]*?)\s*from\s*'([^']+)'/gm
const DYNAMIC = /\bimport\(\s*'([^']+)'\s*\)/g

export function importsOf(file: string, source: string): Import[] {
  const named = [...source.matchAll(IMPORT)].map((match): Import => {
    const clause = match[2] ?? ''
    const all = clause
      .replace(/[{}]/g, '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    const values = all.filter((name) => !name.startsWith('type '))
    const names = values.map((name) => name.split(/\s+as\s+/)[0]!)
    return {
      file,
      target: match[3]!,
      names,
      typeOnly: match[1] !== undefined || (all.length > 0 && values.length === 0),
    }
  })
  const dynamic = [...source.matchAll(DYNAMIC)].map(
    (match): Import => ({ file, target: match[1]!, names: ['*'], typeOnly: false }),
  )
  return [...named, ...dynamic]
}

/** Sentences about imports that the table does not allow. `portNames` answers what a room's port.ts exports. */
export function breaches(imports: readonly Import[], doors: Doors, portNames: (room: string) => Set<string>): string[] {
  const found: string[] = []
  for (const { file, target, names, typeOnly } of imports) {
    const [room, ...rest] = file.split('/')
    const isTest = /\.test\.ts$/.test(file) || /(^|\/)contract\.ts$/.test(file)
    if (room === undefined || rest.length === 0 || room === 'testing') continue
    if (target.startsWith('.')) {
      const depth = rest.length - 1
      const up = target.split('/').filter((part) => part === '..').length
      const wiring = room === 'cli' && /^(\.\.\/)+app\.ts$/.test(target)
      if (up > depth && !wiring) found.push(`${file}: ${target} leaves the room ${room}`)
      continue
    }
    if (!target.startsWith('#')) continue
    const other = target.slice(1)
    if (other === room) found.push(`${file}: ${target} opens its own door`)
    if (other === 'testing' && isTest) continue
    const access = doors[room]?.[other]
    if (isTest && access === undefined && other !== room) continue
    if (access === undefined && other !== room) found.push(`${file}: the room ${room} may not open ${target}`)
    if (access !== 'port' || typeOnly) continue
    const exported = portNames(other)
    const inner = names.filter((name) => !exported.has(name))
    if (inner.length > 0 && !isTest) found.push(`${file}: ${inner.join(', ')} of ${target} is not part of its port`)
  }
  return found
}

const SRC = import.meta.dirname

function filesBelow(dir: string): string[] {
  return readdirSync(join(SRC, dir), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(dir, entry.name)) : /\.tsx?$/.test(entry.name) ? [join(dir, entry.name)] : [],
  )
}

const portExports = new Map<string, Set<string>>()
function portNames(room: string): Set<string> {
  const cached = portExports.get(room)
  if (cached) return cached
  const exported = new Set<string>()
  try {
    const source = readFileSync(join(SRC, room, 'port.ts'), 'utf8')
    for (const match of source.matchAll(
      /^export (?:declare )?(?:async )?(?:function|class|const|interface|type) (\w+)/gm,
    ))
      exported.add(match[1]!)
  } catch {
    // A room without port.ts has an empty port.
  }
  portExports.set(room, exported)
  return exported
}

describe('the house', () => {
  it('lets a room open only the doors of the table', () => {
    const imports = filesBelow('.').flatMap((file) => importsOf(file, readFileSync(join(SRC, file), 'utf8')))
    assert.ok(imports.length > 20, 'the test must see the imports it judges')
    assert.deepEqual(breaches(imports, DOORS, portNames), [])
  })

  it('has a row in the table for every room', () => {
    const rooms = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    const unknown = rooms.map((entry) => entry.name).filter((name) => name !== 'testing' && !DOORS[name])
    assert.deepEqual(unknown, [])
  })

  for (const [what, file, source, complaint] of [
    ['a forbidden room', 'lib/x.ts', "import { s } from '#api'", 'lib/x.ts: the room lib may not open #api'],
    [
      'a path out of the room',
      'view/x.ts',
      "import { a } from '../kube/client.ts'",
      'view/x.ts: ../kube/client.ts leaves the room view',
    ],
    [
      'more than a port',
      'engine/x.ts',
      "import { connect } from '#kube'",
      'engine/x.ts: connect of #kube is not part of its port',
    ],
    [
      'test builders in the product',
      'api/x.ts',
      "import { a } from '#testing'",
      'api/x.ts: the room api may not open #testing',
    ],
    ['a dynamic import', 'core/x.ts', "await import('#engine')", 'core/x.ts: the room core may not open #engine'],
  ] as const) {
    it(`catches ${what}`, () => {
      const planted = breaches(importsOf(file, source), DOORS, () => new Set(['Objects']))
      assert.deepEqual(planted, [complaint])
    })
  }
})
