// Puts the values of an apply into inline Terraform text without their ever becoming text of it: a `${key}` of ours
// becomes a reference to a Terraform variable made for it. Where Terraform takes no reference, the value is quoted.
import { isPlainObject, parseJson, shortHash } from '#lib'
import { type Hole, isLiteralOnly, quoteHcl, scanHcl } from './hcl.ts'
import { rememberRecent } from './recent.ts'

interface Substituted {
  readonly text: string
  /** Terraform variables to declare, with their values. */
  readonly references: Readonly<Record<string, string>>
}

type Values = Readonly<Record<string, string>>

/** Name of the Terraform variable that has the value of `key`. */
function referenceName(key: string): string {
  const plain = key.replace(/[^A-Za-z0-9_]/g, '_')
  return plain === key ? `capt_${key}` : `capt_${plain}_${shortHash(key)}`
}

export function substituteHcl(text: string, values: Values): Substituted {
  const holes = holesOf(text, Object.keys(values))
  const references: Record<string, string> = {}
  let out = ''
  let done = 0
  for (const { start, end, key, place, literalOnly } of holes) {
    const value = values[key]!
    let put: string
    if (literalOnly) {
      const quoted = quoteHcl(value)
      put = place === 'quoted' ? quoted.slice(1, -1) : place === 'bare' ? quoted : `\${${quoted}}`
    } else {
      const name = referenceName(key)
      references[name] = value
      put = place === 'bare' ? `var.${name}` : `\${var.${name}}`
    }
    out += text.slice(done, start) + put
    done = end
  }
  return { text: out + text.slice(done), references }
}

const recentHoles = rememberRecent(8, (text) =>
  rememberRecent(8, (names) => {
    const ours = new Set(JSON.parse(names) as string[])
    return scanHcl(text, (key) => ours.has(key)).holes
  }),
)

/** The same names in the same text have the same places, whatever their values are. */
function holesOf(text: string, keys: string[]): readonly Hole[] {
  return recentHoles(text)(JSON.stringify(keys.sort()))
}

/** The same for Terraform's JSON syntax. Text that is not JSON is left as it is: Terraform reports what is wrong. */
export function substituteTerraformJson(text: string, values: Values): Substituted {
  const references: Record<string, string> = {}
  let parsed: unknown
  try {
    parsed = parseJson(text)
  } catch {
    return { text, references }
  }

  const substitute = (template: string, path: readonly string[]): string =>
    replaceHoles(template, values, (key, value) => {
      if (isPlainText(path)) return value
      if (isLiteralOnly(bodyPath(path), path.at(-1))) return `\${${quoteHcl(value)}}`
      references[referenceName(key)] = value
      return `\${var.${referenceName(key)}}`
    })
  const walk = (value: unknown, path: readonly string[]): unknown => {
    if (typeof value === 'string') return substitute(value, path)
    if (Array.isArray(value)) return value.map((item) => walk(item, path))
    if (!isPlainObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        replaceHoles(name, values, (_key, text) => text),
        walk(item, [...path, name]),
      ]),
    )
  }
  return { text: JSON.stringify(walk(parsed, []), null, 2), references }
}

/** Block types by nesting, as `isLiteralOnly` wants them: labels left out as far as it matters. */
function bodyPath(path: readonly string[]): readonly string[] {
  const [top = '', ...rest] = path.slice(0, -1)
  const labels = top === 'resource' || top === 'data' ? 2 : top === 'terraform' || top === 'locals' ? 0 : 1
  return [top, ...rest.slice(labels)]
}

/** Places whose strings Terraform's JSON syntax reads as they stand, without template rules. */
function isPlainText(path: readonly string[]): boolean {
  const [top] = path
  if (top === 'variable' || top === 'terraform') return true
  return top === 'module' && path.length === 3 && (path[2] === 'source' || path[2] === 'version')
}

/** Every `${key}` with a known key; `$${key}` is Terraform's own escape and stays. */
function replaceHoles(template: string, values: Values, replace: (key: string, value: string) => string): string {
  return template.replace(/\$\$\{|\$\{([^{}\n]*)\}/g, (whole, key: string | undefined) =>
    key !== undefined && Object.hasOwn(values, key) ? replace(key, values[key]!) : whole,
  )
}
