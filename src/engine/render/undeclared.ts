// Which of the values that a person gives have no effect, because the template declares no variable of that name.
import type { WorkspaceTemplate } from '#api'
import { closest } from '#lib'
import { declaredVariables } from './variables.ts'

interface Undeclared {
  readonly name: string
  /** The declared name that was probably meant. */
  readonly meant: string | undefined
}

/** Undefined for a module from elsewhere: its variables are known when it was fetched. */
export function undeclaredValues(
  template: WorkspaceTemplate,
  names: readonly string[],
): readonly Undeclared[] | undefined {
  const { source, module, inlineFormat } = template.spec.template.spec.forProvider
  if (source !== 'Inline') return undefined
  const declared = declaredVariables({ [inlineFormat === 'JSON' ? 'main.tf.json' : 'main.tf']: module })
  return names
    .filter((name) => !declared.has(name))
    .sort()
    .map((name) => ({ name, meant: closest(name, declared.keys()) }))
}
