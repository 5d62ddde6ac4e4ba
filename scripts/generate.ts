// Writes what is generated from the kinds, the error sections and the command table: config/crd, docs/kinds, docs/errors.md,
// docs/commands.md.
// With --check it writes nothing, lists what is stale and ends with 1.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { generatedFiles, leftovers } from './generated.ts'

const root = join(import.meta.dirname, '..')

const stale = [...generatedFiles(root)].filter(([path, text]) => read(path) !== text).map(([path]) => path)
const orphans = leftovers(root)

if (process.argv.includes('--check')) {
  for (const path of stale) console.error(`stale: ${path}`)
  for (const path of orphans) console.error(`belongs to nothing any more: ${path}`)
  if (stale.length + orphans.length > 0) {
    console.error('run npm run generate and commit the result')
    process.exitCode = 1
  }
} else {
  const files = generatedFiles(root)
  for (const path of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), files.get(path)!)
    console.log(`wrote ${path}`)
  }
  for (const path of orphans) console.log(`remove ${path}: no kind makes it any more`)
  if (stale.length === 0) console.log(`${files.size} files are up to date`)
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return undefined
  }
}
