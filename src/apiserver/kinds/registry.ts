// Which kinds a realm serves right now: the built-in ones, and one per established CustomResourceDefinition. It follows
// the stored definitions, so a CRD is served from the moment its write is acknowledged.

import type { Clock } from '#lib'
import { parseJson } from '#lib'
import { decodeCheck } from '../builtin/check.ts'
import { toCoreEvent, toNewerEvent, toServedCoreEvent } from '../builtin/events.ts'
import { BUILTIN_KINDS, type BuiltinKind } from '../builtin/kinds.ts'
import { BUILTIN_RULES } from '../builtin/rules.ts'
import { objectSchema } from '../builtin/types.ts'
import { type ApiObject, listAt, textAt } from '../object.ts'
import { builtinColumns } from '../present/builtin-columns.ts'
import type { Collection, RealmStore } from '../store/store.ts'
import { crdRules } from './crd.ts'
import { type CompileSchema, type Converters, isEstablished, toCustomType } from './custom.ts'
import { type ResourceType, type Rules, type ServedVersion, versionOf } from './resource.ts'

export const CRDS = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' } as const
export const NAMESPACES = { group: '', resource: 'namespaces' } as const
export const isSame = (a: Collection, b: Collection) => a.group === b.group && a.resource === b.resource

export interface Served {
  readonly type: ResourceType
  readonly version: ServedVersion
}

export interface Registry {
  find(group: string, version: string, plural: string): Served | undefined
  byKind(group: string, kind: string): ResourceType | undefined
  byCollection(group: string, plural: string): ResourceType | undefined
  types(): readonly ResourceType[]
  /** Rises whenever the set of kinds or one of their definitions changes. */
  revision(): number
}

interface RegistryOptions {
  readonly store: RealmStore
  readonly clock: Clock
  readonly compile: CompileSchema
  readonly converters?: Converters
}

export function createRegistry({ store, clock, compile, converters }: RegistryOptions): Registry {
  const custom = new Map<string, ResourceType>()
  let revision = 1
  const crds = crdRules({ clock, compile, taken })
  const builtin = BUILTIN_KINDS.map((kind) => toBuiltinType(kind, kind.kind === 'CustomResourceDefinition' ? crds : {}))
  const builtinByPlural = new Map(builtin.map((type) => [`${type.group}/${type.plural}`, type]))
  const lookup = (group: string, plural: string) =>
    builtinByPlural.get(`${group}/${plural}`) ?? custom.get(`${group}/${plural}`)

  const register = (crd: ApiObject) => {
    const type = toCustomType(crd, compile, converters)
    const key = `${type.group}/${type.plural}`
    if (isEstablished(crd) && !builtinByPlural.has(key)) custom.set(key, type)
  }
  for (const row of store.scan(CRDS)) register(parseJson(row.text) as ApiObject)

  store.subscribe(({ type, collection, object }) => {
    if (!isSame(collection, CRDS)) return
    revision += 1
    if (type !== 'DELETED') register(object)
    else custom.delete(`${textAt(object, 'spec', 'group')}/${textAt(object, 'spec', 'names', 'plural')}`)
  })

  function taken(group: string, except: string): { words: Set<string>; kinds: Set<string> } {
    const words = new Set<string>()
    const kinds = new Set<string>()
    for (const row of store.scan(CRDS)) {
      const crd = parseJson(row.text) as ApiObject
      if (crd.metadata.name === except || textAt(crd, 'spec', 'group') !== group) continue
      const names = (crd['status'] as { acceptedNames?: object } | undefined)?.acceptedNames ?? {}
      words.add(textAt(names, 'plural')).add(textAt(names, 'singular'))
      for (const word of listAt(names, 'shortNames') as string[]) words.add(word)
      kinds.add(textAt(names, 'kind')).add(textAt(names, 'listKind'))
    }
    return { words, kinds }
  }

  return {
    find(group, version, plural) {
      const type = lookup(group, plural)
      const served = type && versionOf(type, version)
      return type && served ? { type, version: served } : undefined
    },
    byKind: (group, kind) =>
      [...builtin, ...custom.values()].find((type) => type.group === group && type.kind === kind),
    byCollection: lookup,
    types: () => [...builtin, ...custom.values()],
    revision: () => revision,
  }
}

function toBuiltinType(kind: BuiltinKind, extra: Rules): ResourceType {
  const schema = objectSchema(kind.type)
  const version: ServedVersion = {
    name: kind.version,
    schema,
    check: decodeCheck(kind.kind, kind.version, schema),
    status: kind.status ?? false,
    ...(kind.scale ? { scale: kind.scale } : {}),
    columns: builtinColumns(kind.group, kind.kind),
    selectable: kind.selectable ?? [],
  }
  const isNewerEvent = kind.group === 'events.k8s.io'
  const isCoreEvent = kind.group === '' && kind.kind === 'Event'
  return {
    group: kind.group,
    kind: kind.kind,
    plural: kind.plural,
    singular: kind.kind.toLowerCase(),
    listKind: `${kind.kind}List`,
    shortNames: kind.shortNames ?? [],
    categories: kind.categories ?? [],
    namespaced: kind.namespaced,
    custom: false,
    versions: [version],
    storageVersion: kind.version,
    collection: { group: isNewerEvent ? '' : kind.group, resource: kind.plural },
    rules: { ...kind.rules, ...BUILTIN_RULES[`${kind.group}/${kind.kind}`], ...extra },
    ...(kind.subresources ? { subresources: kind.subresources } : {}),
    toStored: isNewerEvent ? toCoreEvent : (object) => object,
    toServed: isNewerEvent ? toNewerEvent : isCoreEvent ? toServedCoreEvent : (object) => object,
  }
}
