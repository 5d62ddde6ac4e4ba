// The cluster of examples/simulation.yaml under another name, as text that people apply.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const EXAMPLE = join(import.meta.dirname, '../../../examples/simulation.yaml')

/** The templates, without which no cluster can be made, and the clusters of these names. */
export function simulatedManifest(...names: readonly string[]): string {
  const documents = readFileSync(EXAMPLE, 'utf8').split(/^---\n/m)
  const isTemplate = (text: string) => /^kind: WorkspaceTemplate$/m.test(text)
  const own = documents.filter((text) => !isTemplate(text))
  return [
    ...documents.filter(isTemplate),
    ...names.flatMap((name) => own.map((text) => text.replaceAll(/\bdemo\b/g, name))),
  ].join('---\n')
}
