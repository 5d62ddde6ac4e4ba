// What we need to know about a Terraform state (format version 4), and nothing more. Text that is empty, cut or of
// another format is no state: Terraform truncates the file in place, so such text is seen and must never be saved.
import { isPlainObject, type Json, parseJson } from '#lib'

export interface StateOutput {
  readonly value: Json
  readonly sensitive: boolean
}

export interface StateInfo {
  readonly serial: number
  readonly lineage: string
  /** Version of the program that wrote it. */
  readonly toolVersion: string | undefined
  /** Addresses of managed resource instances, sorted. */
  readonly addresses: readonly string[]
  readonly outputs: Readonly<Record<string, StateOutput>>
}

export function readState(text: string): StateInfo | undefined {
  if (!text.trimEnd().endsWith('}')) return undefined
  let parsed: unknown
  try {
    parsed = parseJson(text)
  } catch {
    return undefined
  }
  if (!isPlainObject(parsed) || parsed['version'] !== 4) return undefined
  const { serial, lineage, resources, outputs, terraform_version: toolVersion } = parsed
  if (typeof serial !== 'number' || typeof lineage !== 'string' || lineage === '') return undefined
  return {
    serial,
    lineage,
    toolVersion: typeof toolVersion === 'string' ? toolVersion : undefined,
    addresses: (Array.isArray(resources) ? resources : []).flatMap(addressesOf).sort(),
    outputs: Object.fromEntries(
      Object.entries(isPlainObject(outputs) ? outputs : {}).map(([name, output]) => {
        const fields = isPlainObject(output) ? output : {}
        return [name, { value: (fields['value'] ?? null) as Json, sensitive: fields['sensitive'] === true }]
      }),
    ),
  }
}

function addressesOf(resource: unknown): readonly string[] {
  if (!isPlainObject(resource) || resource['mode'] !== 'managed') return []
  const { module, type, name, instances } = resource
  const base = `${typeof module === 'string' ? `${module}.` : ''}${String(type)}.${String(name)}`
  return (Array.isArray(instances) ? instances : []).map((instance) => {
    const key = isPlainObject(instance) ? instance['index_key'] : undefined
    if (typeof key === 'number') return `${base}[${key}]`
    return typeof key === 'string' ? `${base}[${JSON.stringify(key)}]` : base
  })
}
