// Fills ${NAME} into manifests, per YAML value: a value stays data and can never become another key or document.
// Strict: what is not known is reported by name, nothing becomes an empty string. `$${` writes a literal `${`.
import { isPlainObject, type Json } from '#lib'

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

interface Expansion<T> {
  readonly value: T
  /** Names without a value, sorted. The value is only good when this is empty. */
  readonly missing: readonly string[]
  readonly used: ReadonlySet<string>
}

export function expand<T extends Json>(value: T, variables: Readonly<Record<string, Json>>): Expansion<T> {
  const missing = new Set<string>()
  const used = new Set<string>()
  const lookUp = (name: string): Json | undefined => {
    used.add(name)
    const found = Object.hasOwn(variables, name) ? variables[name] : undefined
    if (found === undefined || found === null) missing.add(name)
    return found
  }
  const inText = (text: string): Json => {
    // A value that is nothing but one reference keeps the type of what it refers to.
    const alone = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(text)
    if (alone) return lookUp(alone[1]!) ?? text
    return text.replace(REFERENCE, (whole, name: string | undefined) => {
      if (name === undefined) return '${'
      const found = lookUp(name)
      return found === undefined || found === null ? whole : toText(found)
    })
  }
  const walk = (node: Json): Json => {
    if (typeof node === 'string') return inText(node)
    if (Array.isArray(node)) return node.map(walk)
    if (!isPlainObject(node)) return node
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [toText(inText(key)), walk(inner as Json)]))
  }
  return { value: walk(value) as T, missing: [...missing].sort(), used }
}

function toText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
