// Which file imports what from which file, read from the source text: for the rules about modules in
// src/architecture.test.ts.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Import {
  readonly file: string
  /** As written: `#kube`, `./client.ts`, `node:fs`. */
  readonly target: string
  /** Names as the other file exports them; `*` for a namespace, and for a dynamic import. */
  readonly names: readonly string[]
  readonly types: readonly string[]
  /** `export * from`. */
  readonly isStar: boolean
  readonly isDynamic: boolean
}

const STATIC = /^(import|export)\s+(type\s+)?([^;'"()=]*?)\s*from\s*'([^']+)'/gm
const DYNAMIC = /\bimport\(\s*'([^']+)'\s*\)/g

export function importsOf(file: string, source: string): Import[] {
  const named = [...source.matchAll(STATIC)].map((match): Import => {
    const clause = (match[3] ?? '').trim()
    const all = clause
      .replace(/[{}]/g, '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    const nameOf = (name: string) => (name.startsWith('*') ? '*' : name.replace(/^type\s+/, '').split(/\s+as\s+/)[0]!)
    const isType = (name: string) => match[2] !== undefined || name.startsWith('type ')
    return {
      file,
      target: match[4]!,
      names: all.filter((name) => !isType(name)).map(nameOf),
      types: all.filter(isType).map(nameOf),
      isStar: match[1] === 'export' && clause === '*',
      isDynamic: false,
    }
  })
  const dynamic = [...source.matchAll(DYNAMIC)].map(
    (match): Import => ({ file, target: match[1]!, names: ['*'], types: [], isStar: false, isDynamic: true }),
  )
  return [...named, ...dynamic]
}

/** The file that an import names, from the root of the repository; undefined for packages. */
export function targetOf({ file, target }: Pick<Import, 'file' | 'target'>): string | undefined {
  if (target.startsWith('#')) return `src/${target.slice(1)}/index.ts`
  return target.startsWith('.') ? join(dirname(file), target) : undefined
}

const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) (\w+)/gm
const LISTED = /^export (?:type )?\{([^}]*)\}(?:\s*from\s*'[^']+')?/gm
const NAMESPACE = /^export \* as (\w+) from/gm

/** Names that a file exports itself or by name from another one. */
export function exportsOf(source: string): string[] {
  const listed = [...source.matchAll(LISTED)].flatMap((match) =>
    match[1]!
      .split(',')
      .map((name) => name.trim().replace(/^type\s+/, ''))
      .filter((name) => name !== '')
      .map((name) => name.split(/\s+as\s+/).at(-1)!),
  )
  const declared = [DECLARED, NAMESPACE].flatMap((pattern) => [...source.matchAll(pattern)].map((match) => match[1]!))
  return [...new Set([...declared, ...listed])]
}

/** TypeScript files below a folder of the repository, as paths from its root. */
export function sourcesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return sourcesBelow(root, path)
      return /\.tsx?$/.test(entry.name) ? [path] : []
    })
    .sort()
}

export type Sources = ReadonlyMap<string, string>

export function readSources(root: string, folders: readonly string[]): Sources {
  const files = folders.flatMap((folder) => sourcesBelow(root, folder))
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

/** Files that import each other, directly or around, by more than types. Each cycle once, as a path. */
export function findCycles(sources: Sources): string[] {
  const edges = new Map<string, readonly string[]>()
  for (const [file, source] of sources)
    edges.set(
      file,
      importsOf(file, source)
        .filter(({ names, types, isDynamic }) => !isDynamic && (names.length > 0 || types.length === 0))
        .flatMap((one) => targetOf(one) ?? []),
    )
  const done = new Set<string>()
  const found: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      found.push([...path.slice(path.indexOf(file)), file].join(' → '))
      return
    }
    if (done.has(file)) return
    for (const next of edges.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
  return found
}

/** `file: name` of every export of `files` that no other source imports. */
export function findUnusedExports(sources: Sources, files: readonly string[]): string[] {
  const used = new Set<string>()
  const starred = new Map<string, string[]>()
  for (const [file, source] of sources)
    for (const one of importsOf(file, source)) {
      const target = targetOf(one)
      if (target === undefined) continue
      for (const name of [...one.names, ...one.types]) {
        if (name !== '*') used.add(`${target}: ${name}`)
        else if (one.isStar) starred.set(target, [...(starred.get(target) ?? []), file])
        else for (const word of wordsOf(source)) used.add(`${target}: ${word}`)
      }
    }
  // What a file passes on with `export *` is used when it is imported from there.
  const isUsed = (file: string, name: string): boolean =>
    used.has(`${file}: ${name}`) || (starred.get(file) ?? []).some((by) => isUsed(by, name))
  return files.flatMap((file) =>
    exportsOf(sources.get(file)!)
      .filter((name) => !isUsed(file, name))
      .map((name) => `${file}: ${name}`),
  )
}

const wordsOf = (source: string): readonly string[] => source.match(/\w+/g) ?? []
