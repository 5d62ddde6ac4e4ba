// What is served, in the three forms clients ask for it: the old documents per group and version, and the two
// aggregated ones that kubectl prefers.
import { compareVersions } from '../kinds/custom.ts'
import type { Registry } from '../kinds/registry.ts'
import { apiVersionIn, canBeEmptied, type ResourceType, type ServedVersion, versionOf } from '../kinds/resource.ts'
import { REVIEWS } from './reviews.ts'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const verbsOf = (type: ResourceType) =>
  type.custom ? CUSTOM_VERBS : VERBS.filter((verb) => verb !== 'deletecollection' || canBeEmptied(type))
const PART_VERBS = ['get', 'patch', 'update']

interface Part {
  readonly name: string
  readonly kind: string
  readonly group?: string
  readonly version?: string
  readonly verbs: readonly string[]
}

function partsOf(type: ResourceType, version: ServedVersion): readonly Part[] {
  return [
    ...(version.scale
      ? [{ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: PART_VERBS }]
      : []),
    ...(type.subresources?.includes('finalize') ? [{ name: 'finalize', kind: type.kind, verbs: ['update'] }] : []),
    ...(type.subresources?.includes('eviction')
      ? [{ name: 'eviction', kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] }]
      : []),
    ...(type.subresources?.includes('token')
      ? [{ name: 'token', kind: 'TokenRequest', verbs: ['create'], group: 'authentication.k8s.io', version: 'v1' }]
      : []),
    ...(type.subresources?.includes('binding') ? [{ name: 'binding', kind: 'Binding', verbs: ['create'] }] : []),
    ...(version.status ? [{ name: 'status', kind: type.kind, verbs: PART_VERBS }] : []),
  ]
}

/** Groups and their versions in the order kubectl shows them: core first, then by name. */
export function groupVersions(registry: Registry): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, Set<string>>([['', new Set(['v1'])]])
  for (const type of registry.types()) {
    const versions = groups.get(type.group) ?? new Set()
    for (const version of type.versions) versions.add(version.name)
    groups.set(type.group, versions)
  }
  for (const review of REVIEWS) groups.set(review.group, (groups.get(review.group) ?? new Set()).add(review.version))
  return new Map([...groups].map(([group, versions]) => [group, [...versions].sort(compareVersions)]))
}

export function apiVersions(address: string): object {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  }
}

export function apiGroup(group: string, versions: readonly string[]): object {
  const entries = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }))
  return { name: group, versions: entries, preferredVersion: entries[0] }
}

export function apiGroupList(registry: Registry): object {
  const groups = [...groupVersions(registry)].filter(([group]) => group !== '')
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.map(([group, versions]) => apiGroup(group, versions)),
  }
}

/** Undefined when nothing is served there. */
export function apiResourceList(registry: Registry, group: string, version: string): object | undefined {
  if (!groupVersions(registry).get(group)?.includes(version)) return undefined
  const resources = served(registry, group, version).flatMap(({ type, found }) => [
    {
      name: type.plural,
      singularName: type.singular,
      namespaced: type.namespaced,
      kind: type.kind,
      verbs: verbsOf(type),
      ...(type.shortNames.length > 0 ? { shortNames: type.shortNames } : {}),
      ...(type.categories.length > 0 ? { categories: type.categories } : {}),
    },
    ...partsOf(type, found).map((part) => ({
      ...part,
      name: `${type.plural}/${part.name}`,
      singularName: '',
      namespaced: type.namespaced,
    })),
  ])
  const reviews = REVIEWS.filter((review) => review.group === group && review.version === version).map((review) => ({
    name: review.plural,
    singularName: review.kind.toLowerCase(),
    namespaced: review.namespaced,
    kind: review.kind,
    verbs: ['create'],
  }))
  const groupVersion = apiVersionIn({ group }, version)
  // The core document is older than the field.
  const apiVersion = group === '' ? {} : { apiVersion: 'v1' }
  return { kind: 'APIResourceList', ...apiVersion, groupVersion, resources: [...resources, ...reviews] }
}

function served(registry: Registry, group: string, version: string) {
  const types = registry.types().flatMap((type) => {
    const found = type.group === group ? versionOf(type, version) : undefined
    return found ? [{ type, found }] : []
  })
  return types.sort((a, b) => (a.type.plural < b.type.plural ? -1 : 1))
}

/** `/api` and `/apis` in one document each. */
export function aggregated(registry: Registry, part: 'core' | 'groups', form: 'v2' | 'v2beta1'): object {
  const items = [...groupVersions(registry)]
    .filter(([group]) => (group === '') === (part === 'core'))
    .map(([group, versions]) => ({
      metadata: { name: group === '' ? undefined : group, creationTimestamp: null },
      versions: versions.map((version) => ({
        version,
        resources: aggregatedResources(registry, group, version),
        freshness: 'Current',
      })),
    }))
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${form}`, metadata: {}, items }
}

function aggregatedResources(registry: Registry, group: string, version: string): readonly object[] {
  const scope = (namespaced: boolean) => (namespaced ? 'Namespaced' : 'Cluster')
  // An answer of the kind's own group and version is left unnamed, but for custom kinds.
  const kindOf = (kind: string, custom = false, inGroup = custom ? group : '', inVersion = custom ? version : '') => ({
    group: inGroup,
    version: inVersion,
    kind,
  })
  const kinds = served(registry, group, version).map(({ type, found }) => {
    const parts = partsOf(type, found).map((part) => ({
      subresource: part.name,
      responseKind: kindOf(part.kind, type.custom, part.group, part.version),
      verbs: part.verbs,
    }))
    return {
      resource: type.plural,
      responseKind: kindOf(type.kind, type.custom),
      scope: scope(type.namespaced),
      singularResource: type.singular,
      verbs: verbsOf(type),
      ...(type.shortNames.length > 0 ? { shortNames: type.shortNames } : {}),
      ...(type.categories.length > 0 ? { categories: type.categories } : {}),
      ...(parts.length > 0 ? { subresources: parts } : {}),
    }
  })
  const reviews = REVIEWS.filter((review) => review.group === group && review.version === version).map((review) => ({
    resource: review.plural,
    responseKind: kindOf(review.kind),
    scope: scope(review.namespaced),
    singularResource: review.kind.toLowerCase(),
    verbs: ['create'],
  }))
  return [...kinds, ...reviews]
}
