// OpenAPI v3, one document per group and version, good enough for `kubectl explain`, for its check of what the server
// can validate, and for client generators. Custom kinds carry the descriptions of their CRD.
import type { JsonSchema } from '#api'
import { hashOf } from '#lib'
import { typeName, typeSchema } from '../builtin/types.ts'
import type { Registry } from '../kinds/registry.ts'
import { type ResourceType, type ServedVersion, versionOf } from '../kinds/resource.ts'
import { groupVersions } from './discovery.ts'

const groupPath = (group: string, version: string) => (group === '' ? `api/${version}` : `apis/${group}/${version}`)

export function openApiIndex(registry: Registry, prefix: string): object {
  const paths: Record<string, object> = {}
  for (const [group, versions] of groupVersions(registry)) {
    for (const version of versions) {
      const path = groupPath(group, version)
      const hash = hashOf([path, registry.revision(), BOOTED]).slice(0, 32).toUpperCase()
      paths[path] = { serverRelativeURL: `${prefix}/openapi/v3/${path}?hash=${hash}` }
    }
  }
  return { paths }
}

/** kubectl keeps documents by their hash; those of another run of this server may differ. */
const BOOTED = `${process.pid}-${Date.now()}`

export function openApiDocument(registry: Registry, group: string, version: string): object | undefined {
  if (!groupVersions(registry).get(group)?.includes(version)) return undefined
  const schemas: Record<string, unknown> = {}
  const paths: Record<string, unknown> = {}
  for (const type of registry.types()) {
    const served = type.group === group ? versionOf(type, version) : undefined
    if (!served) continue
    Object.assign(schemas, componentsOf(type, served))
    Object.assign(paths, pathsOf(type, served))
  }
  return { openapi: '3.0.0', info: { title: 'capt', version: 'v1' }, paths, components: { schemas } }
}

function componentName(type: ResourceType, version: ServedVersion): string {
  const domain = type.group === '' ? 'core' : type.group
  return `${domain.split('.').reverse().join('.')}.${version.name}.${type.kind}`
}

function componentsOf(type: ResourceType, version: ServedVersion): Record<string, unknown> {
  const shared = new Map<string, unknown>()
  const gvk = [{ group: type.group, version: version.name, kind: type.kind }]
  const name = componentName(type, version)
  const own = expand(version.schema, shared, true) as Record<string, unknown>
  const list = {
    type: 'object',
    description: `A list of ${type.kind}.`,
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      items: { type: 'array', items: { $ref: `#/components/schemas/${name}` } },
    },
    required: ['items'],
    'x-kubernetes-group-version-kind': [{ ...gvk[0], kind: type.listKind }],
  }
  return {
    ...Object.fromEntries(shared),
    [name]: { ...own, 'x-kubernetes-group-version-kind': gvk },
    [`${name}List`]: list,
  }
}

/** Named types become references, so that a type that contains itself ends. */
function expand(schema: JsonSchema, shared: Map<string, unknown>, isRoot = false): unknown {
  const name = typeName(schema)
  if (name !== undefined && !isRoot) {
    const key = `io.k8s.${name}`
    if (!shared.has(key)) {
      shared.set(key, {})
      shared.set(key, expandOwn(typeSchema(name), shared))
    }
    return { allOf: [{ $ref: `#/components/schemas/${key}` }], default: {} }
  }
  return expandOwn(schema, shared)
}

function expandOwn(schema: JsonSchema, shared: Map<string, unknown>): unknown {
  const { properties, additionalProperties, items, ...rest } = schema
  return {
    ...rest,
    ...(schema.format === 'micro-time' ? { format: 'date-time' } : {}),
    ...(properties
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([field, inner]) => [field, expand(inner, shared)]),
          ),
        }
      : {}),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? expand(additionalProperties, shared) : additionalProperties,
        }),
    ...(items ? { items: expand(items, shared) } : {}),
  }
}

const parameter = (name: string, type = 'string') => ({ name, in: 'query', schema: { type, uniqueItems: true } })
const WRITE_PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => parameter(name))
const LIST_PARAMETERS = [
  ...['continue', 'fieldSelector', 'labelSelector', 'resourceVersion', 'resourceVersionMatch'].map((name) =>
    parameter(name),
  ),
  ...['limit', 'timeoutSeconds'].map((name) => parameter(name, 'integer')),
  ...['allowWatchBookmarks', 'sendInitialEvents', 'watch'].map((name) => parameter(name, 'boolean')),
]
const PATCH_TYPES = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json']

function pathsOf(type: ResourceType, version: ServedVersion): Record<string, unknown> {
  const gvk = { group: type.group, version: version.name, kind: type.kind }
  const reference = { $ref: `#/components/schemas/${componentName(type, version)}` }
  const list = { $ref: `#/components/schemas/${componentName(type, version)}List` }
  const operation = (
    action: string,
    parameters: readonly object[],
    body: readonly string[] = [],
    answer: object = reference,
  ) => ({
    operationId: `${action}${type.group.replace(/\W+/g, '')}${version.name}${type.kind}`,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
    parameters,
    ...(body.length > 0
      ? { requestBody: { content: Object.fromEntries(body.map((media) => [media, { schema: reference }])) } }
      : {}),
    responses: { '200': { description: 'OK', content: { 'application/json': { schema: answer } } } },
  })
  const patchTypes = type.custom ? PATCH_TYPES : [...PATCH_TYPES, 'application/strategic-merge-patch+json']
  const base = `/${groupPath(type.group, version.name)}`
  const collection = type.namespaced ? `${base}/namespaces/{namespace}/${type.plural}` : `${base}/${type.plural}`
  const item = {
    get: operation('get', []),
    put: operation('put', WRITE_PARAMETERS, ['application/json']),
    patch: operation('patch', [...WRITE_PARAMETERS, parameter('force', 'boolean')], patchTypes),
    delete: operation('delete', [parameter('dryRun'), parameter('propagationPolicy')]),
  }
  return {
    [collection]: {
      get: operation('list', LIST_PARAMETERS, [], list),
      post: operation('post', WRITE_PARAMETERS, ['application/json']),
      delete: operation('deletecollection', LIST_PARAMETERS),
    },
    [`${collection}/{name}`]: item,
    ...(version.status ? { [`${collection}/{name}/status`]: { get: item.get, put: item.put, patch: item.patch } } : {}),
    ...(version.scale ? { [`${collection}/{name}/scale`]: { get: item.get, put: item.put, patch: item.patch } } : {}),
    ...(type.namespaced ? { [`${base}/${type.plural}`]: { get: operation('list', LIST_PARAMETERS, [], list) } } : {}),
  }
}
