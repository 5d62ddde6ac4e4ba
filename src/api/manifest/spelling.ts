// The older project spelt some kinds Capt… where capt spells CAPT…. Its manifests are accepted with a note.
import { isPlainObject, type Json } from '#lib'

const OUR_GROUPS = ['infrastructure.cluster.x-k8s.io', 'controlplane.cluster.x-k8s.io']

interface Respelled {
  readonly value: Json
  /** Old spellings that were found, each once. */
  readonly old: readonly string[]
}

/** Rewrites the kind of an object and of every reference inside it. */
export function respell(value: Json): Respelled {
  const old = new Set<string>()
  return { value: rewrite(value, old), old: [...old] }
}

function newSpelling(kind: string): string {
  return kind.replace(/^Capt(?=[A-Z])/, 'CAPT')
}

function rewrite(value: Json, old: Set<string>): Json {
  if (Array.isArray(value)) return value.map((item: Json) => rewrite(item, old))
  if (!isPlainObject(value)) return value
  const object = value as Readonly<Record<string, Json>>
  const entries = Object.entries(object).map(([key, item]): [string, Json] => {
    if (key !== 'kind' || typeof item !== 'string' || newSpelling(item) === item || !isOurs(object))
      return [key, rewrite(item, old)]
    old.add(item)
    return [key, newSpelling(item)]
  })
  return Object.fromEntries(entries)
}

function isOurs(object: Readonly<Record<string, Json>>): boolean {
  const group = object['apiGroup'] ?? String(object['apiVersion'] ?? '').split('/')[0]
  return OUR_GROUPS.includes(String(group))
}
