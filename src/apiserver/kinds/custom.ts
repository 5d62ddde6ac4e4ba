// Turns a CustomResourceDefinition into a served kind. The schema is compiled on first use, so that a server with many
// CRDs starts fast; a definition that does not compile never gets this far (crd.ts refuses it).
import type { CompiledSchema, JsonSchema } from '#api'
import { type Json, ownValue, parseJsonPath } from '#lib'
import { typeSchema } from '../builtin/types.ts'
import { type ApiObject, listAt, recordAt, textAt, valueAt } from '../object.ts'
import { ageCell, ageColumn, nameColumn } from '../present/columns.ts'
import { badRequest } from '../status.ts'
import { apiVersionIn, type ObjectCheck, type ResourceType, type ServedVersion, type TableColumn } from './resource.ts'

export type CompileSchema = (schema: JsonSchema) => CompiledSchema
/** Converts one object between two served versions of its kind, in process. Keyed by `group/Kind`. */
export type Converters = Readonly<Record<string, (object: ApiObject, toVersion: string) => ApiObject>>

export interface CrdVersion {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
  readonly schema?: { readonly openAPIV3Schema?: JsonSchema }
  readonly subresources?: { readonly status?: object; readonly scale?: Record<string, string> }
  readonly additionalPrinterColumns?: readonly CrdColumn[]
  readonly selectableFields?: readonly { readonly jsonPath: string }[]
}

interface CrdColumn {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
}

export function crdVersions(crd: ApiObject): readonly CrdVersion[] {
  return listAt(crd, 'spec', 'versions') as readonly CrdVersion[]
}

export function toCustomType(crd: ApiObject, compile: CompileSchema, converters: Converters = {}): ResourceType {
  const names = recordAt(crd, 'spec', 'names')
  const group = textAt(crd, 'spec', 'group')
  const kind = textAt(names, 'kind')
  const plural = textAt(names, 'plural')
  const storage = crdVersions(crd).find((version) => version.storage)!
  const served = crdVersions(crd)
    .filter((version) => version.served)
    .map((version) => toServedVersion(group, kind, version, compile))
  const inStorage = toServedVersion(group, kind, storage, compile)
  /** Whatever was written later than the definition was written under it. */
  const definedAt = Number(crd.metadata.resourceVersion ?? Number.MAX_SAFE_INTEGER)
  const convertIn = ownValue(converters, `${group}/${kind}`)
  const needsWebhook = textAt(crd, 'spec', 'conversion', 'strategy') === 'Webhook' && convertIn === undefined
  const others = needsWebhook ? served.map(({ name }) => name).filter((name) => name !== storage.name) : []
  const convert = (object: ApiObject, to: string): ApiObject => {
    if (object.apiVersion === apiVersionIn({ group }, to)) return object
    if (needsWebhook) throw badRequest(noConversion({ group, plural, storageVersion: storage.name }, to))
    const converted = convertIn?.(object, to) ?? object
    // A conversion may keep what the other version cannot say in labels and annotations, and touch no other metadata.
    const { labels, annotations } = converted.metadata
    const metadata = { ...object.metadata, ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) }
    return { ...converted, apiVersion: apiVersionIn({ group }, to), kind, metadata }
  }
  return {
    group,
    kind,
    plural,
    singular: textAt(names, 'singular') || kind.toLowerCase(),
    listKind: textAt(names, 'listKind') || `${kind}List`,
    shortNames: listAt(names, 'shortNames') as string[],
    categories: listAt(names, 'categories') as string[],
    namespaced: textAt(crd, 'spec', 'scope') === 'Namespaced',
    custom: true,
    terminating: crd.metadata.deletionTimestamp !== undefined,
    // A storage version that is not served leaves nothing to serve without conversion: then every request says why.
    versions: served
      .filter(({ name }) => !storage.served || !others.includes(name))
      .sort((a, b) => compareVersions(a.name, b.name)),
    storageVersion: storage.name,
    ...(needsWebhook ? { unconvertible: others } : {}),
    collection: { group, resource: plural },
    rules: { generation: true },
    toStored(object) {
      const converted = convert(object, storage.name)
      return converted === object ? object : inStorage.check.admit(converted).object
    },
    toServed(object, version) {
      // The schema may have changed since the object was written: what it no longer knows goes, new defaults appear.
      const isCurrent = Number(object.metadata.resourceVersion ?? 0) > definedAt
      if (needsWebhook) {
        const own = convert(object, version)
        return isCurrent ? own : toServedVersion(group, kind, versionIn(crd, version), compile).check.admit(own).object
      }
      // It may even have been stored in another version, when that was the one to store.
      const current = isCurrent ? object : inStorage.check.admit(convert(object, storage.name)).object
      if (version === storage.name) return current
      const target = served.find((candidate) => candidate.name === version)
      const converted = convert(current, version)
      return target ? target.check.admit(converted).object : converted
    },
  }
}

const versionIn = (crd: ApiObject, name: string): CrdVersion =>
  crdVersions(crd).find((version) => version.name === name)!

/** Why a version of a kind with a conversion webhook is refused, and what to do. */
export function noConversion(
  { group, plural, storageVersion }: Pick<ResourceType, 'group' | 'plural' | 'storageVersion'>,
  version: string,
): string {
  return `${plural}.${group} in version ${version} needs the conversion webhook of its CustomResourceDefinition, which the embedded API does not call: use the storage version ${storageVersion} for objects stored in it`
}

function toServedVersion(group: string, kind: string, version: CrdVersion, compile: CompileSchema): ServedVersion {
  const schema: JsonSchema = version.schema?.openAPIV3Schema ?? {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
  }
  const scale = version.subresources?.scale
  const warning = version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated`
  return {
    name: version.name,
    schema: withObjectMeta(schema),
    check: schemaCheck(schema, compile),
    status: version.subresources?.status !== undefined,
    ...(scale ? { scale: scale as unknown as NonNullable<ServedVersion['scale']> } : {}),
    columns: toColumns(version.additionalPrinterColumns),
    selectable: (version.selectableFields ?? []).map((field) => field.jsonPath.replace(/^\./, '')),
    ...(version.deprecated ? { deprecation: warning } : {}),
  }
}

/** CRDs do not spell metadata out; merging and explaining need it. */
function withObjectMeta(schema: JsonSchema): JsonSchema {
  const text: JsonSchema = { type: 'string' }
  const own = schema.properties ?? {}
  const properties = {
    ...own,
    apiVersion: own['apiVersion'] ?? text,
    kind: own['kind'] ?? text,
    metadata: typeSchema('meta.v1.ObjectMeta'),
  }
  return { ...schema, properties }
}

function schemaCheck(schema: JsonSchema, compile: CompileSchema): ObjectCheck {
  let compiled: CompiledSchema | undefined
  const engine = () => {
    compiled ??= compile(schema)
    return compiled
  }
  return {
    admit(object) {
      const { value, unknown } = engine().prune(object as unknown as Json)
      return { object: engine().applyDefaults(value) as unknown as ApiObject, unknown }
    },
    validate: (object, old) => engine().validate(object as unknown as Json, old as unknown as Json | undefined),
  }
}

function toColumns(columns: readonly CrdColumn[] | undefined): readonly TableColumn[] {
  if (!columns || columns.length === 0) return [nameColumn, { ...ageColumn, type: 'date' }]
  const own = columns.map((column): TableColumn => {
    const read = parseJsonPath(column.jsonPath)
    return {
      name: column.name,
      type: column.type,
      ...(column.format ? { format: column.format } : {}),
      description: column.description ?? '',
      priority: column.priority ?? 0,
      cell(object, now) {
        const found = read(object)
        if (found.length === 0) return null
        const first = found[0]
        if (column.type === 'date') return ageCell(first, now)
        if (column.type === 'string') return typeof first === 'string' ? found.join(',') : JSON.stringify(first)
        return first ?? null
      },
    }
  })
  return [nameColumn, ...own]
}

/** Kubernetes' order of versions: v2, v1, v1beta2, v1beta1, v1alpha1, then the rest by name. */
export function compareVersions(a: string, b: string): number {
  const rank = (name: string) => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name)
    if (!match) return undefined
    const stage = match[2] === 'alpha' ? 0 : match[2] === 'beta' ? 1 : 2
    return [stage, Number(match[1]), Number(match[3] ?? 0)] as const
  }
  const [x, y] = [rank(a), rank(b)]
  if (!x || !y) return x ? -1 : y ? 1 : a < b ? -1 : a > b ? 1 : 0
  return y[0] - x[0] || y[1] - x[1] || y[2] - x[2]
}

export function isEstablished(crd: ApiObject): boolean {
  const conditions = listAt(crd, 'status', 'conditions')
  return conditions.some((item) => valueAt(item, 'type') === 'Established' && valueAt(item, 'status') === 'True')
}
