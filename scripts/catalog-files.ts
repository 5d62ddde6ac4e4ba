// Every file that is generated from the catalogue and the error sections; scripts/generated.ts writes them with the others.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseErrorPages } from '../src/cli/error-pages.ts'
import { renderCompatibilityPage } from './compatibility-page.ts'
import { iamFiles } from './iam-files.ts'
import { moduleFiles } from './karpenter-module.ts'

export function catalogFiles(root: string, errorTexts: readonly string[]): Map<string, string> {
  const read = (path: string) => readFileSync(join(root, 'modules/karpenter', path), 'utf8')
  const files = moduleFiles(read('README.md'), read('variables.tf'), read('outputs.tf'))
  files.set('docs/compatibility.md', renderCompatibilityPage())
  for (const [path, text] of iamFiles()) files.set(path, text)
  files.set('src/cli/errors.generated.json', `${JSON.stringify(parseErrorPages(errorTexts), null, 2)}\n`)
  return files
}
