// Data sources whose values differ between the saved state and what a plan has just read. Pure.
import { type Json, jsonEqual, parseJson } from '#lib'
import { type Fields, fieldsOf, listOf } from './fields.ts'

const itemsOf = (value: unknown): readonly Fields[] => listOf(value).map(fieldsOf)

/** Their addresses, sorted. One that the state does not have yet is not counted. */
export function movedData(plan: Fields, state: string | undefined): readonly string[] {
  const saved = savedData(state)
  if (saved.size === 0) return []
  const root = fieldsOf(fieldsOf(fieldsOf(plan['prior_state'])['values'])['root_module'])
  return dataOf(root)
    .filter(({ address, values }) => {
      const before = saved.get(address)
      return before !== undefined && !jsonEqual(before, values)
    })
    .map(({ address }) => address)
    .sort()
}

function dataOf(module: Fields): readonly { readonly address: string; readonly values: Fields }[] {
  const own = itemsOf(module['resources'])
    .filter(({ mode }) => mode === 'data')
    .map(({ address, values }) => ({ address: String(address), values: fieldsOf(values) }))
  return [...own, ...itemsOf(module['child_modules']).flatMap(dataOf)]
}

function savedData(state: string | undefined): ReadonlyMap<string, Fields> {
  const resources = itemsOf(fieldsOf(parse(state))['resources']).filter(({ mode }) => mode === 'data')
  return new Map(
    resources.flatMap(({ module, type, name, instances }) => {
      const base = `${typeof module === 'string' ? `${module}.` : ''}data.${String(type)}.${String(name)}`
      return itemsOf(instances).map(({ index_key: key, attributes }): [string, Fields] => [
        key === undefined ? base : `${base}[${JSON.stringify(key)}]`,
        Object.fromEntries(Object.entries(fieldsOf(attributes)).map(([field, value]) => [field, unwrap(value)])),
      ])
    }),
  )
}

function parse(text: string | undefined): unknown {
  try {
    return parseJson(text ?? '{}')
  } catch {
    return {}
  }
}

/** A state names the type of a value beside it where the schema leaves the type open. */
function unwrap(value: Json): Json {
  const fields = fieldsOf(value)
  const isTyped = Object.keys(fields).length === 2 && 'value' in fields && 'type' in fields
  const hasType = Array.isArray(fields['type']) || typeof fields['type'] === 'string'
  return isTyped && hasType ? fields['value']! : value
}
