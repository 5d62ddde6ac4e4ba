// The text of every generated file, by its path in the repository. Reads sources, writes nothing.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ALL_KINDS, pageName, renderReferenceIndex, renderReferencePage, toCustomResourceDefinition } from '#api'
import { renderParityPage } from '../test/support/parity/page.ts'
import { catalogFiles } from './catalog-files.ts'
import { chartFiles } from './chart/chart-files.ts'
import { COMMAND_TABLE, renderCommandPage, renderCommandTable } from './command-page.ts'
import { renderErrorPage } from './error-page.ts'
import { KIND_INDEX, renderKindIndex } from './kind-index.ts'
import { manifestFiles } from './manifest-files.ts'
import { type LockFile, licencePage } from './release/bill-of-materials.ts'
import { renderTimeoutsPage } from './timeouts-page.ts'

const NOTE = '# Generated from src/api/kinds by npm run generate. Do not edit.\n'

export function generatedFiles(root: string): Map<string, string> {
  const files = new Map<string, string>([
    [KIND_INDEX, renderKindIndex(root)],
    [COMMAND_TABLE, renderCommandTable()],
  ])
  for (const kind of ALL_KINDS) {
    const crd = stringify(toCustomResourceDefinition(kind), { lineWidth: 0, aliasDuplicateObjects: false })
    files.set(`config/crd/${kind.group}_${kind.plural}.yaml`, NOTE + crd)
    const example = join(root, `examples/kinds/${kind.singular}.yaml`)
    const text = existsSync(example) ? readFileSync(example, 'utf8') : undefined
    files.set(`docs/kinds/${pageName(kind)}`, renderReferencePage(kind, text))
  }
  files.set('docs/kinds/README.md', renderReferenceIndex(ALL_KINDS))
  files.set('docs/errors.md', renderErrorPage(errorSections(root)))
  files.set('docs/compatibility-embedded.md', renderParityPage())
  files.set('docs/commands.md', renderCommandPage())
  files.set('docs/timeouts.md', renderTimeoutsPage())
  for (const [path, text] of catalogFiles(root, errorSections(root))) files.set(path, text)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile
  files.set('THIRD-PARTY.md', licencePage(lock))
  for (const [path, text] of manifestFiles()) files.set(path, text)
  for (const [path, text] of chartFiles(files)) files.set(path, text)
  return files
}

/** Files in the generated folders that nothing generates. */
export function leftovers(root: string): string[] {
  const wanted = generatedFiles(root)
  return ['config/crd', 'docs/kinds']
    .flatMap((dir) => (existsSync(join(root, dir)) ? readdirSync(join(root, dir)).map((name) => `${dir}/${name}`) : []))
    .filter((path) => /_.*\.yaml$|\.md$/.test(path) && !wanted.has(path))
}

export function errorSections(root: string): string[] {
  const dir = join(root, 'docs/errors.d')
  return readdirSync(dir)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => readFileSync(join(dir, name), 'utf8'))
}
