// The variables of a workspace as files that Terraform reads by itself. A run names its files in the order that counts; by
// hand only the names of the files decide, so they are chosen to give the same order.
import { canonicalJson, type Json, parseJson } from '#lib'
import { assembleVariables, type Declared, PRIMITIVE } from '../render/variables.ts'
import type { SortedArguments } from '../runner/process/arguments.ts'
import type { Workspace } from '../workspace.ts'

interface TextFile {
  /** Below the root module. */
  readonly path: string
  readonly text: string
}

export interface VariableFiles {
  readonly files: readonly TextFile[]
  /** Variables whose values were given by the environment and fit into no file: `TF_VAR_name` and its value. */
  readonly environment: Readonly<Record<string, string>>
  /** Names of variables with secret values, by file, sorted. */
  readonly secrets: ReadonlyMap<string, readonly string[]>
  readonly initFile?: string
  readonly destroyFile?: string
}

const PREFIX = 'TF_VAR_'

/** `others`: variable files that the root module has of its own. */
export function toVariableFiles(
  { variables, varFiles, env, secretValues }: Pick<Workspace, 'variables' | 'varFiles' | 'env' | 'secretValues'>,
  declared: ReadonlyMap<string, Declared>,
  sorted: Pick<SortedArguments, 'variables' | 'initVariables' | 'destroyVariables'>,
  others: boolean,
): VariableFiles {
  const isAlone = !others && varFiles.length === 0
  // Read after every other file, in this order.
  const name = (part: string, ending: string) => `zz-capt-${part}.auto.tfvars${ending}`
  const texts = { ...variables.texts, ...sorted.variables }
  const values = assembleVariables({ ...variables, texts }, declared)
  const { taken, left } = fromEnvironment(env, declared, values, !others)
  const given = varFiles.map(({ format, content }, i) => ({
    path: name(String(i).padStart(2, '0'), format === 'JSON' ? '.json' : ''),
    text: content,
  }))
  // The weakest file of all, where the module has none of its own.
  const weakest = file('terraform.tfvars.json', isAlone ? { ...taken, ...values } : taken)
  const strongest = isAlone ? [] : file(name('values', '.json'), values)
  const extra = (path: string, of: Readonly<Record<string, string>>) =>
    file(path, assembleVariables({ offered: {}, given: {}, texts: of, exact: {} }, declared))
  const init = extra('init.tfvars.json', sorted.initVariables)
  const destroy = extra('destroy.tfvars.json', sorted.destroyVariables)
  const hidden = new Set(secretValues)
  const isSecret = ([variable, value]: [string, Json]) =>
    declared.get(variable)?.sensitive === true || (typeof value === 'string' && hidden.has(value))
  const named = [...weakest, ...strongest, ...init, ...destroy].map(
    ({ path, text }) => [path, Object.entries(parseJson(text) as Record<string, Json>).filter(isSecret)] as const,
  )
  return {
    files: [...weakest, ...given, ...strongest, ...init, ...destroy],
    environment: left,
    secrets: new Map<string, readonly string[]>([
      ...given.filter(({ text }) => hidden.has(text)).map(({ path }) => [path, ['all of it']] as const),
      ...named.flatMap(([path, found]) =>
        found.length > 0 ? [[path, found.map(([variable]) => variable).sort()] as const] : [],
      ),
    ]),
    ...(init[0] ? { initFile: init[0].path } : {}),
    ...(destroy[0] ? { destroyFile: destroy[0].path } : {}),
  }
}

/** Values of the environment are the weakest of all: files of the module itself win over them, but not over a file of ours. */
function fromEnvironment(
  env: Readonly<Record<string, string>>,
  declared: ReadonlyMap<string, Declared>,
  values: Readonly<Record<string, Json>>,
  hasPlace: boolean,
): { readonly taken: Readonly<Record<string, Json>>; readonly left: Readonly<Record<string, string>> } {
  const taken: Record<string, Json> = {}
  const left: Record<string, string> = {}
  for (const [key, text] of Object.entries(env)) {
    const name = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined
    const of = name === undefined ? undefined : declared.get(name)
    if (name === undefined || !of || Object.hasOwn(values, name)) continue
    const value = hasPlace ? readValue(text, of) : undefined
    if (value === undefined) left[key] = text
    else taken[name] = value
  }
  return { taken, left }
}

/** As Terraform reads text for a variable of this type; undefined where that takes an expression of its language. */
function readValue(text: string, { type }: Declared): Json | undefined {
  if (PRIMITIVE.test(type)) return text
  try {
    return /[$%]\{/.test(text) ? undefined : (parseJson(text) as Json)
  } catch {
    return undefined
  }
}

const file = (path: string, values: Readonly<Record<string, Json>>): readonly TextFile[] =>
  Object.keys(values).length > 0 ? [{ path, text: toText(values) }] : []

/** For people to read: one line per value. */
function toText(values: Readonly<Record<string, Json>>): string {
  const lines = Object.keys(values)
    .sort()
    .map((name) => `  ${JSON.stringify(name)}: ${canonicalJson(values[name]!)}`)
  return `{\n${lines.join(',\n')}\n}\n`
}
