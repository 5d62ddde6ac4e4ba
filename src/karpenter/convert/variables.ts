// Fills ${NAME} in the string values of a manifest. A name nobody gave becomes a marked placeholder, so that a file never
// reaches a cluster with a literal ${CLUSTER_NAME} that selects nothing.
import { isPlainObject } from '#lib'
import type { Note } from './finding.ts'

export const PLACEHOLDER = 'CHANGE-ME'

/** Something in these objects was left to a person. */
export const hasPlaceholder = (objects: readonly unknown[]): boolean => JSON.stringify(objects).includes(PLACEHOLDER)

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
/** A script's own ${…} is the shell's business. */
const SCRIPTS = new Set(['userData'])

export function fillVariables(value: unknown, given: Readonly<Record<string, string>>, note: Note, path = ''): unknown {
  if (typeof value === 'string') return fillText(value, given, note, path)
  if (Array.isArray(value)) return value.map((item, i) => fillVariables(item, given, note, `${path}[${i}]`))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const below = path === '' ? key : `${path}.${key}`
      const filledKey = fillText(key, given, note, below)
      return [filledKey, SCRIPTS.has(key) ? inner : fillVariables(inner, given, note, below)]
    }),
  )
}

function fillText(text: string, given: Readonly<Record<string, string>>, note: Note, path: string): string {
  return text.replace(VARIABLE, (_whole, name: string) => {
    const value = given[name]
    if (value !== undefined) return value
    note(
      'person',
      'CAPT_CONVERT_PLACEHOLDER',
      path,
      `nothing was given for \${${name}}`,
      `run again with --set ${name}=VALUE, or replace ${PLACEHOLDER}-${name}`,
    )
    return `${PLACEHOLDER}-${name}`
  })
}
