// Writes everything that derives from the kinds, the commands, the error sections, the catalog and the templates;
// CONTRIBUTING.md lists it.
// With --check it writes nothing, lists what is stale and ends with 1.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KIND_INDEX, renderKindIndex } from './kind-index.ts'

const root = join(import.meta.dirname, '..')

const isCheck = process.argv.includes('--check')
// Everything else is made from the kinds that this file lists.
if (!isCheck) write(KIND_INDEX, renderKindIndex(root))
const { generatedFiles, leftovers } = await import('./generated.ts')

const stale = [...generatedFiles(root)].filter(([path, text]) => read(path) !== text).map(([path]) => path)
const orphans = leftovers(root)

if (isCheck) {
  for (const path of stale) console.error(`stale: ${path}`)
  for (const path of orphans) console.error(`belongs to nothing any more: ${path}`)
  if (stale.length + orphans.length > 0) {
    console.error('run npm run generate and commit the result')
    process.exitCode = 1
  }
} else {
  const files = generatedFiles(root)
  for (const path of stale) {
    write(path, files.get(path)!)
  }
  for (const path of orphans) console.log(`remove ${path}: no kind makes it any more`)
  if (stale.length === 0) console.log(`${files.size} files are up to date`)
}

function write(path: string, text: string): void {
  if (read(path) === text) return
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  console.log(`wrote ${path}`)
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return undefined
  }
}
