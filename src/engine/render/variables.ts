// Which variables a root module declares, and the one JSON file that gives it their values.
import { isPlainObject, type Json, parseJson } from '#lib'
import type { Variables } from '../workspace.ts'
import { scanRecent } from './hcl.ts'

export interface Declared {
  /** Type expression as written; empty when left out. */
  readonly type: string
  readonly sensitive: boolean
}

/** Reads every `*.tf` and `*.tf.json` of a root module. Generous: an extra name costs no more than a warning. */
export function declaredVariables(files: Readonly<Record<string, string>>): ReadonlyMap<string, Declared> {
  const declared = new Map<string, Declared>()
  for (const [name, text] of Object.entries(files)) {
    if (name.endsWith('.tf.json')) addFromJson(text, declared)
    else if (name.endsWith('.tf')) addFromHcl(text, declared)
  }
  return declared
}

function addFromHcl(text: string, declared: Map<string, Declared>): void {
  for (const { type, labels, attributes } of scanRecent(text).blocks) {
    const [name] = labels
    if (type !== 'variable' || name === undefined) continue
    declared.set(name, { type: attributes['type'] ?? '', sensitive: attributes['sensitive'] === 'true' })
  }
}

function addFromJson(text: string, declared: Map<string, Declared>): void {
  let parsed: unknown
  try {
    parsed = parseJson(text)
  } catch {
    return
  }
  const blocks = isPlainObject(parsed) ? parsed['variable'] : undefined
  for (const block of Array.isArray(blocks) ? blocks : [blocks]) {
    for (const [name, body] of Object.entries(isPlainObject(block) ? block : {})) {
      const fields = isPlainObject(body) ? body : {}
      const type = fields['type']
      declared.set(name, { type: typeof type === 'string' ? type : '', sensitive: fields['sensitive'] === true })
    }
  }
}

/** Values by name, strongest source last: offered, given, texts, exact. */
export function assembleVariables(
  variables: Variables,
  declared: ReadonlyMap<string, Declared>,
): Readonly<Record<string, Json>> {
  const offered = Object.entries(variables.offered).filter(([name]) => declared.has(name))
  const texts = Object.entries(variables.texts).map(
    ([name, text]) => [name, readText(text, declared.get(name))] as const,
  )
  return { ...Object.fromEntries(offered), ...variables.given, ...Object.fromEntries(texts), ...variables.exact }
}

/** Types of which Terraform takes text as it is; for all others it is an expression. */
export const PRIMITIVE = /^"?(string|number|bool)?"?$/

/** As `terraform -var` does: text stays text unless the variable is declared with a type that text cannot be. */
function readText(text: string, declared: Declared | undefined): Json {
  if (!declared || PRIMITIVE.test(declared.type)) return text
  try {
    return parseJson(text) as Json
  } catch {
    return text
  }
}
