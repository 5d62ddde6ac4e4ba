// Finds the address of a kind on a server from what a manifest says. Kinds of Kubernetes itself are known; the others
// are looked up among the CRDs of that server, and only established ones count.
import {
  CustomResourceDefinitionKind,
  findCondition,
  groupOf,
  isClusterScoped,
  type KindRef,
  kindRef,
  type UnknownObject,
} from '#api'
import { KubeError, type Objects } from '#kube'
import { isPlainObject, pluralOf } from '#lib'

/** Groups that every Kubernetes serves. */
const BUILT_IN = new Set([
  '',
  'apps',
  'batch',
  'autoscaling',
  'policy',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'networking.k8s.io',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'scheduling.k8s.io',
  'node.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'admissionregistration.k8s.io',
])

export async function resolveKind(objects: Objects, apiVersion: string, kind: string): Promise<KindRef> {
  const group = groupOf(apiVersion)
  const known = kindRef(apiVersion, kind, !isClusterScoped(group, kind))
  if (BUILT_IN.has(group)) return known
  const found = (await byName(objects, group, kind)) ?? (await bySearch(objects, group, kind))
  const resolved = found ? toKindRef(found, known.version) : undefined
  if (resolved) return resolved
  throw new KubeError('KindNotServed', `no matches for kind "${kind}" in version "${apiVersion}"`)
}

async function byName(objects: Objects, group: string, kind: string): Promise<UnknownObject | undefined> {
  const definition = await objects.get<UnknownObject>(CustomResourceDefinitionKind, {
    name: `${pluralOf(kind)}.${group}`,
  })
  return definition && isOf(definition, group, kind) ? definition : undefined
}

async function bySearch(objects: Objects, group: string, kind: string): Promise<UnknownObject | undefined> {
  for await (const definition of objects.list<UnknownObject>(CustomResourceDefinitionKind))
    if (isOf(definition, group, kind)) return definition
  return undefined
}

function isOf({ spec }: UnknownObject, group: string, kind: string): boolean {
  return (
    isPlainObject(spec) && spec['group'] === group && isPlainObject(spec['names']) && spec['names']['kind'] === kind
  )
}

function toKindRef({ spec, status }: UnknownObject, version: string): KindRef | undefined {
  if (!isPlainObject(spec) || !isPlainObject(spec['names']) || !Array.isArray(spec['versions'])) return undefined
  const isServed = spec['versions'].some(
    (one: unknown) => isPlainObject(one) && one['name'] === version && one['served'] === true,
  )
  const isEstablished = isPlainObject(status) && findCondition(status['conditions'], 'Established')?.status === 'True'
  if (!isServed || !isEstablished) return undefined
  const { kind, plural } = spec['names']
  return {
    group: String(spec['group']),
    version,
    kind: String(kind),
    plural: String(plural),
    namespaced: spec['scope'] === 'Namespaced',
  }
}
