// Fills in defaults. A null that the schema does not allow counts as absent: it takes the default, or goes.
import { isPlainObject, type Json, setOwnValue } from '#lib'
import { childSchema, type JsonSchema } from './build.ts'

export function applyDefaults(value: Json, schema: JsonSchema | undefined): Json {
  if (Array.isArray(value)) {
    const items = schema?.items
    return value.map((item: Json) =>
      applyDefaults(isForbiddenNull(item, items) ? (items?.default ?? null) : item, items),
    )
  }
  if (!isPlainObject(value)) return value

  const out: Record<string, Json> = {}
  for (const [key, item] of Object.entries(value) as [string, Json][]) {
    const field = childSchema(schema, key)
    const dropped = isForbiddenNull(item, field)
    if (dropped && field?.default === undefined) continue
    const filled = applyDefaults(dropped ? field!.default! : item, field)
    setOwnValue(out, key, filled)
  }
  for (const [key, field] of Object.entries(schema?.properties ?? {})) {
    if (field.default !== undefined && field.default !== null && !Object.hasOwn(out, key))
      setOwnValue(out, key, applyDefaults(field.default, field))
  }
  return out
}

function isForbiddenNull(value: Json, schema: JsonSchema | undefined): boolean {
  return value === null && schema !== undefined && schema.nullable !== true
}
