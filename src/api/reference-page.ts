// The reference page of a kind in Markdown: what it is for, an example, every field with type, default and rules.
import type { Json } from '#lib'
import { crdName } from './crd.ts'
import type { Column, Kind } from './define-kind.ts'
import type { JsonSchema, Rule } from './schema/build.ts'

export function renderReferencePage(kind: Kind, example?: string): string {
  const lines = [`# ${kind.kind}`, '', kind.about, '']
  const facts: [string, string][] = [
    ['apiVersion', `\`${kind.apiVersion}\``],
    ['kind', `\`${kind.kind}\``],
    ['kubectl', [kind.plural, kind.singular, ...(kind.shortNames ?? [])].map((name) => `\`${name}\``).join(', ')],
    ['CRD', `\`${crdName(kind)}\``],
    ...(kind.categories?.length ? [['categories', kind.categories.join(', ')] as [string, string]] : []),
  ]
  lines.push('| | |', '| --- | --- |', ...facts.map(([name, value]) => `| ${name} | ${value} |`), '')
  if (example !== undefined) lines.push('## Example', '', '```yaml', example.trimEnd(), '```', '')
  if (kind.rules?.length) lines.push('## Rules', '', ...kind.rules.map(ruleLine), '')
  lines.push('## Spec', '', ...section(kind.spec.schema, 'spec'))
  if (kind.status)
    lines.push('## Status', '', 'Written by capt, never by people.', '', ...section(kind.status.schema, 'status'))
  if (kind.columns?.length) lines.push('## Columns of kubectl get', '', ...columnTable(kind.columns))
  return `${lines.join('\n').trimEnd()}\n`
}

export function renderReferenceIndex(kinds: readonly Kind[]): string {
  const rows = kinds.map((kind) => `| [${kind.kind}](${pageName(kind)}) | ${cell(kind.about)} |`)
  return `${['# Kinds', '', '| kind | what it is for |', '| --- | --- |', ...rows].join('\n')}\n`
}

export function pageName(kind: Pick<Kind, 'singular'>): string {
  return `${kind.singular}.md`
}

interface Row {
  readonly path: string
  readonly schema: JsonSchema
  readonly required: boolean
}

function section(schema: JsonSchema, path: string): string[] {
  const rules = (schema['x-kubernetes-validations'] ?? []).map(ruleLine)
  const table = rowsBelow(schema, path).map(
    (row) =>
      `| \`${row.path.slice(path.length + 1)}\` | ${typeText(row.schema)} | ${defaultText(row)} | ${cell(row.schema.description ?? '')} | ${cell(restrictions(row.schema).join('; '))} |`,
  )
  return [
    ...(rules.length > 0 ? ['Rules:', '', ...rules, ''] : []),
    '| field | type | default | meaning | rules |',
    '| --- | --- | --- | --- | --- |',
    ...table,
    '',
  ]
}

function rowsBelow(schema: JsonSchema, path: string): Row[] {
  const additional = schema.additionalProperties
  if (schema.items) return rowsBelow(schema.items, `${path}[]`)
  if (typeof additional === 'object') return rowsBelow(additional, `${path}.*`)
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}.${name}`
    return [{ path: at, schema: field, required: schema.required?.includes(name) ?? false }, ...rowsBelow(field, at)]
  })
}

function typeText(schema: JsonSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'integer or string'
  if (schema.type === 'array') return `list of ${plural(typeText(schema.items!))}`
  if (typeof schema.additionalProperties === 'object') return `map of ${plural(typeText(schema.additionalProperties))}`
  if (schema.type === undefined) return 'any'
  if (schema.format === 'date-time') return 'time'
  return schema.type
}

function plural(text: string): string {
  const [first, ...rest] = text.split(' ')
  return [first === 'any' ? 'anything' : `${first}s`, ...rest].join(' ')
}

function defaultText(row: Row): string {
  if (row.schema.default !== undefined) return `\`${JSON.stringify(row.schema.default)}\``
  return row.required ? '**required**' : ''
}

function restrictions(schema: JsonSchema): string[] {
  const out: string[] = []
  const listed = schema.enum ?? schema.items?.enum
  if (listed) out.push(`one of ${listed.map((value: Json) => `\`${String(value)}\``).join(', ')}`)
  const of = schema.items && !schema.items.properties ? schema.items : schema
  if (of.pattern) out.push(`matches \`${of.pattern}\``)
  out.push(...range('', of.minimum, of.maximum, ''))
  out.push(...range('', of.minLength, of.maxLength, ' characters'))
  out.push(...range('', schema.minItems, schema.maxItems, ' items'))
  out.push(...range('', schema.minProperties, schema.maxProperties, ' entries'))
  if (schema['x-kubernetes-list-type'] === 'set') out.push('no duplicates')
  if (schema['x-kubernetes-list-type'] === 'map')
    out.push(`unique by ${schema['x-kubernetes-list-map-keys']?.join(', ')}`)
  const rules = [...(schema['x-kubernetes-validations'] ?? []), ...(schema.items?.['x-kubernetes-validations'] ?? [])]
  for (const rule of rules) out.push(rule.message ?? `\`${rule.rule}\``)
  return out
}

function range(prefix: string, low: number | undefined, high: number | undefined, unit: string): string[] {
  if (low !== undefined && high !== undefined) return [`${prefix}${low} to ${high}${unit}`]
  if (low !== undefined) return [`${prefix}at least ${low}${unit}`]
  return high === undefined ? [] : [`${prefix}at most ${high}${unit}`]
}

function ruleLine(rule: Rule): string {
  return `- ${rule.message ?? `\`${rule.rule}\``}`
}

function columnTable(columns: readonly Column[]): string[] {
  const rows = columns.map((column) => `| ${column.name} | \`${column.path.replaceAll('|', '\\|')}\` |`)
  return ['| column | from |', '| --- | --- |', ...rows, '']
}

function cell(text: string): string {
  const safe = text.split('`').map((part, i) => (i % 2 === 1 ? part : part.replaceAll('<', '&lt;')))
  return safe.join('`').replaceAll('|', '\\|').replaceAll('\n', ' ')
}

/** Paths of fields without a description: each one is a hole in the reference. */
export function undescribedFields(kind: Kind): string[] {
  const parts: [string, JsonSchema | undefined][] = [
    ['spec', kind.spec.schema],
    ['status', kind.status?.schema],
  ]
  return parts.flatMap(([path, schema]) =>
    schema
      ? rowsBelow(schema, path)
          .filter((row) => !row.schema.description?.trim())
          .map((row) => row.path)
      : [],
  )
}
