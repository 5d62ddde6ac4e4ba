// Which resource a path means: `/apis/apps/v1/namespaces/default/deployments/web/status` and its relatives.
export interface Target {
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Undefined: cluster-scoped, or all namespaces. */
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** Parts of a path below the realm, decoded. Undefined when the path means no resource. */
export function parseTarget(parts: readonly string[]): Target | undefined {
  const [root, ...rest] = parts
  if (root === 'api') return parseResource('', rest)
  if (root === 'apis') return parseResource(rest[0] ?? '', rest.slice(1))
  return undefined
}

function parseResource(group: string, [version, ...rest]: readonly string[]): Target | undefined {
  if (version === undefined || rest.length === 0) return undefined
  const inNamespace = rest[0] === 'namespaces' && rest.length > 2 && !isNamespaceSubresource(group, rest)
  const [resource, name, ...sub] = inNamespace ? rest.slice(2) : rest
  if (resource === undefined || resource === '') return undefined
  return {
    group,
    version,
    resource,
    namespace: inNamespace ? rest[1] : undefined,
    name: name === '' ? undefined : name,
    subresource: sub.length > 0 ? sub.join('/') : undefined,
  }
}

/** `namespaces/x/status` is about the Namespace itself, not about a resource called status. */
function isNamespaceSubresource(group: string, rest: readonly string[]): boolean {
  return group === '' && rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize')
}
