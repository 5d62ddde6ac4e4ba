// Reads the release of Karpenter in a Terraform state: name, namespace, version and the values that it was installed with. Pure.
// Values that the provider marks as sensitive are not in its metadata, and never leave the state.
import { isPlainObject, type Json, type JsonObject, parseJson } from '#lib'

export interface ReleaseFacts {
  readonly address: string
  readonly name: string | undefined
  readonly namespace: string | undefined
  readonly version: string | undefined
  /** All values, those of `set` included; undefined where the state does not say. */
  readonly values?: JsonObject
  /** Paths of values that the state does not show. */
  readonly hidden: readonly string[]
}

const HIDDEN = '(sensitive value)'
type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {})
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Every address of managed resources below `addresses`, with what the state says of it. */
export function releasesInState(state: string, addresses: readonly string[]): readonly ReleaseFacts[] {
  const { resources } = fieldsOf(parseJson(state))
  return (Array.isArray(resources) ? resources : []).map(fieldsOf).flatMap((resource) => {
    const { mode, module, type, name, instances } = resource
    const address = [module, type, name].filter((part) => part !== undefined).join('.')
    if (mode !== 'managed' || !addresses.includes(address) || !Array.isArray(instances)) return []
    return instances.map((instance) => toFacts(address, fieldsOf(fieldsOf(instance)['attributes'])))
  })
}

function toFacts(address: string, attributes: Fields): ReleaseFacts {
  const { name, namespace, version, metadata } = attributes
  // A list of one in the provider's version 2, an object from 3 on.
  const { values } = fieldsOf(Array.isArray(metadata) ? metadata[0] : metadata)
  const hidden: string[] = []
  const parsed = typeof values === 'string' ? showable(parseValues(values), '', hidden) : undefined
  return {
    address,
    name: textOf(name),
    namespace: textOf(namespace),
    version: textOf(version),
    ...(isPlainObject(parsed) ? { values: parsed as JsonObject } : {}),
    hidden,
  }
}

function parseValues(text: string): Json {
  try {
    return parseJson(text) as Json
  } catch {
    return null
  }
}

function showable(value: Json, path: string, hidden: string[]): Json | undefined {
  if (value === HIDDEN) {
    hidden.push(path)
    return undefined
  }
  if (Array.isArray(value)) return value.map((one, index) => showable(one, `${path}[${index}]`, hidden) ?? null)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value as JsonObject).flatMap(([key, inner]) => {
      const kept = showable(inner as Json, path === '' ? key : `${path}.${key}`, hidden)
      return kept === undefined ? [] : [[key, kept]]
    }),
  )
}
