// src/api/kinds/index.ts: every file of that folder, and of the folders in it, that defines a kind. Read as text, because
// what it lists is loaded through it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const KIND_INDEX = 'src/api/kinds/index.ts'

export function renderKindIndex(root: string): string {
  const folder = join(root, 'src/api/kinds')
  const kinds = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.replace(/\.ts$/, ''))
    .sort()
    .flatMap((file) => {
      const name = /^export const (\w+) = defineKind\(/m.exec(readFileSync(join(folder, `${file}.ts`), 'utf8'))?.[1]
      return name === undefined ? [] : [{ file, name }]
    })
  return [
    '// Generated from the files of this folder by npm run generate. Do not edit.',
    '// ALL_KINDS is what gets a CRD, roles, a reference page and a name on the command line.',
    "import type { Kind } from '../define-kind.ts'",
    ...kinds.map(({ file, name }) => `import { ${name} } from './${file}.ts'`),
    '',
    ...kinds.map(({ file }) => `export * from './${file}.ts'`),
    '',
    'export const ALL_KINDS: readonly Kind[] = [',
    ...kinds.map(({ name }) => `  ${name},`),
    ']',
    '',
  ].join('\n')
}
