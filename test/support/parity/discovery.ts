// What is served and how it is described. The real server serves more kinds than we do: what we serve must be described alike.
import type { Loose } from '#testing'
import { items } from '#testing'
import { get, type Step } from './step.ts'

const GROUPS = [
  'v1',
  'apps/v1',
  'batch/v1',
  'coordination.k8s.io/v1',
  'events.k8s.io/v1',
  'autoscaling/v2',
  'networking.k8s.io/v1',
  'policy/v1',
  'discovery.k8s.io/v1',
  'storage.k8s.io/v1',
  'scheduling.k8s.io/v1',
  'rbac.authorization.k8s.io/v1',
  'admissionregistration.k8s.io/v1',
  'apiextensions.k8s.io/v1',
  'apiregistration.k8s.io/v1',
  'authentication.k8s.io/v1',
  'authorization.k8s.io/v1',
  'example.com/v1',
]
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

type Keyed = Readonly<Record<string, unknown>>
type Key = (item: Loose) => string

/** Lists by name; of the real one only what ours has too. */
function common(
  ours: Loose | undefined,
  real: Loose | undefined,
  key: Key,
  inner: (item: Loose) => unknown,
): [Keyed, Keyed] {
  const mine = Object.fromEntries(items(ours).map((item) => [key(item), inner(item)]))
  const theirs = items(real).filter((item) => key(item) in mine)
  return [mine, Object.fromEntries(theirs.map((item) => [key(item), inner(item)]))]
}

const nameOf: Key = (item) => `${item['name']}`
const withoutHash = ({ storageVersionHash: _, ...rest }: Loose) => rest

function narrowResources(ours: Loose, real: Loose): [unknown, unknown] {
  const [mine, theirs] = common(ours['body']?.['resources'], real['body']?.['resources'], nameOf, withoutHash)
  return [whole(ours, 'resources', mine), whole(real, 'resources', theirs)]
}

const whole = (answer: Loose, field: string, value: unknown) => ({
  ...answer,
  body: { ...(answer['body'] as object), [field]: value },
})

function narrowGroups(ours: Loose, real: Loose): [unknown, unknown] {
  const versionsOf = (item: Loose) => ({ preferred: item['preferredVersion'] })
  const [mine, theirs] = common(ours['body']?.['groups'], real['body']?.['groups'], nameOf, versionsOf)
  return [whole(ours, 'groups', mine), whole(real, 'groups', theirs)]
}

const group: Key = (item) => `${item['metadata']?.['name'] ?? ''}`

function narrowAggregated(ours: Loose, real: Loose): [unknown, unknown] {
  const wanted = new Map<string, Set<string>>()
  for (const item of items(ours['body']))
    for (const version of items(item['versions']))
      wanted.set(
        `${group(item)}/${version['version']}`,
        new Set(items(version['resources']).map((one) => `${one['resource']}`)),
      )
  const reduce = (answer: Loose) => {
    const found: Record<string, unknown> = {}
    for (const item of items(answer['body']))
      for (const version of items(item['versions'])) {
        const names = wanted.get(`${group(item)}/${version['version']}`)
        if (!names) continue
        const resources = items(version['resources']).filter((one) => names.has(`${one['resource']}`))
        const { resources: _, ...rest } = version
        found[`${group(item)}/${version['version']}`] = {
          ...rest,
          resources: Object.fromEntries(resources.map((one) => [`${one['resource']}`, withParts(one)])),
        }
      }
    return whole(answer, 'items', found)
  }
  return [reduce(ours), reduce(real)]
}

function withParts(resource: Loose): unknown {
  const { subresources, ...rest } = resource
  const parts = Array.isArray(subresources) ? items(subresources) : []
  return { ...rest, parts: Object.fromEntries(parts.map((part) => [`${part['subresource']}`, part])) }
}

/** Of the schema of a custom kind what its definition says; of the paths which there are and which verbs they have. */
function narrowOpenApi(ours: Loose, real: Loose): [unknown, unknown] {
  const reduce = ({ code, body }: Loose) => {
    const paths = (body?.['paths'] ?? {}) as Readonly<Record<string, Loose>>
    const schemas = (body?.['components']?.['schemas'] ?? {}) as Readonly<Record<string, Loose>>
    const widget = schemas['com.example.v1.Widget'] ?? {}
    const { apiVersion: _, kind: __, metadata: ___, ...own } = (widget['properties'] ?? {}) as Record<string, unknown>
    const verbs = (path: Loose) =>
      Object.keys(path)
        .filter((name) => name !== 'parameters')
        .sort()
    return {
      code,
      openapi: body?.['openapi'],
      paths: Object.fromEntries(Object.entries(paths).map(([path, value]) => [path, verbs(value)])),
      own,
      type: widget['type'],
      gvk: widget['x-kubernetes-group-version-kind'],
    }
  }
  return [reduce(ours), reduce(real)]
}

function narrowIndex(ours: Loose, real: Loose): [unknown, unknown] {
  const keys = (answer: Loose) => Object.keys((answer['body']?.['paths'] ?? {}) as object)
  const mine = keys(ours)
  return [
    mine.sort(),
    keys(real)
      .filter((path) => mine.includes(path))
      .sort(),
  ]
}

export const DISCOVERED: readonly Step[] = [
  { ...get('the versions', '/api'), narrow: (a, b) => [a['body']?.['versions'], b['body']?.['versions']] },
  { ...get('the groups', '/apis'), narrow: narrowGroups },
  get('a group', '/apis/apps'),
  get('a custom group', '/apis/example.com'),
  ...GROUPS.map((groupVersion) => ({
    ...get(`the resources of ${groupVersion}`, groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`),
    narrow: narrowResources,
  })),
  { ...get('the core at once', '/api'), accept: AGGREGATED, narrow: narrowAggregated },
  { ...get('all groups at once', '/apis'), accept: AGGREGATED, narrow: narrowAggregated },
  { ...get('the index of descriptions', '/openapi/v3'), narrow: narrowIndex },
  { ...get('the description of a custom group', '/openapi/v3/apis/example.com/v1'), narrow: narrowOpenApi },
  { ...get('the description of the core', '/openapi/v3/api/v1'), narrow: (a, b) => [a['code'], b['code']] },
  get('the description of nothing', '/openapi/v3/apis/nope.example.com/v1'),
]
