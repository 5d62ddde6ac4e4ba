// Which objects belong to a Cluster and go with it, in the order in which they can be made again: owners first.
// Pure: everything that was read comes in, a list goes out.
import { type AnyObject, CLUSTER_NAME_LABEL, type KindRef } from '#api'
import { isPlainObject, ownValue } from '#lib'

export interface Node {
  readonly kind: KindRef
  readonly object: AnyObject
}

/** Fields that name another object of the same namespace, and the kind they name. */
const REFERENCES: Readonly<Record<string, string>> = {
  templateRef: 'WorkspaceTemplate',
  vpcTemplateRef: 'WorkspaceTemplate',
  workspaceTemplateRef: 'WorkspaceTemplate',
  pipelineRef: 'AddonPipeline',
  secretRef: 'Secret',
  secretKeyRef: 'Secret',
  credentialsRef: 'Secret',
  waitForSecrets: 'Secret',
  writeConnectionSecretToRef: 'Secret',
  configMapRef: 'ConfigMap',
  configMapKeyRef: 'ConfigMap',
}

/** The Clusters and everything that is owned by, labelled for or referred to from what goes with them. */
export function nodesOf(all: readonly Node[], clusters: ReadonlySet<string>): readonly Node[] {
  const byUid = new Map(all.map((node) => [node.object.metadata.uid, node]))
  const byName = new Map(all.map((node) => [idOf(node.kind.kind, node.object.metadata.name), node]))
  const owned = Map.groupBy(
    all.flatMap((node) => (node.object.metadata.ownerReferences ?? []).map(({ uid }) => ({ uid, node }))),
    ({ uid }) => uid,
  )
  const chosen = new Set<Node>()
  const open = all.filter(
    (node) => (isCluster(node) && clusters.has(node.object.metadata.name)) || isLabelled(node.object, clusters),
  )
  while (open.length > 0) {
    const node = open.pop()!
    if (chosen.has(node)) continue
    chosen.add(node)
    open.push(...(owned.get(node.object.metadata.uid ?? '') ?? []).map((entry) => entry.node))
    open.push(...referredFrom(node.object).flatMap((id) => byName.get(id) ?? []))
  }
  return inOwnerOrder([...chosen], byUid)
}

export const idOf = (kind: string, name: string): string => `${kind}/${name}`

/** The label names the Cluster that an object belongs to. */
export function isLabelled(object: AnyObject, clusters: ReadonlySet<string>): boolean {
  const name = object.metadata.labels?.[CLUSTER_NAME_LABEL]
  return name !== undefined && clusters.has(name)
}

/** `Kind/name` of everything a spec refers to in its own namespace. */
export function referredFrom(object: AnyObject): readonly string[] {
  const { namespace } = object.metadata
  const found: string[] = []
  const visit = (value: unknown, field: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, field)
    if (!isPlainObject(value)) return
    const kind = ownValue(REFERENCES, field)
    const isHere = value['namespace'] === undefined || value['namespace'] === namespace
    if (kind !== undefined && typeof value['name'] === 'string' && isHere) found.push(idOf(kind, value['name']))
    // A ClusterResourceSet names the kind beside the name.
    if (field === 'resources' && typeof value['kind'] === 'string' && typeof value['name'] === 'string')
      found.push(idOf(value['kind'], value['name']))
    for (const [key, inner] of Object.entries(value)) visit(inner, key)
  }
  visit((object as { readonly spec?: unknown }).spec, 'spec')
  return found
}

function inOwnerOrder(chosen: readonly Node[], byUid: ReadonlyMap<string | undefined, Node>): readonly Node[] {
  const ordered = new Set<Node>()
  const wanted = new Set(chosen)
  const visit = (node: Node, path: ReadonlySet<Node>): void => {
    if (ordered.has(node) || path.has(node)) return
    const deeper = new Set([...path, node])
    for (const { uid } of node.object.metadata.ownerReferences ?? []) {
      const owner = byUid.get(uid)
      if (owner && wanted.has(owner)) visit(owner, deeper)
    }
    ordered.add(node)
  }
  const rank = (node: Node): number => (isCluster(node) ? 0 : node.kind.group === '' ? 1 : 2)
  const sorted = chosen.toSorted((a, b) => rank(a) - rank(b) || nameOf(a).localeCompare(nameOf(b)))
  for (const node of sorted) visit(node, new Set())
  return [...ordered]
}

export const isCluster = ({ kind }: Node): boolean => kind.kind === 'Cluster' && kind.group === 'cluster.x-k8s.io'
export const nameOf = ({ kind, object }: Node): string => `${kind.kind}/${object.metadata.name}`
