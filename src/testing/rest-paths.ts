// Reads a Kubernetes request line back into verb, kind and key, and writes Status answers. For servers made by tests.
import type { IncomingMessage } from 'node:http'
import type { Key, KindRef } from '#api'

export interface Target {
  readonly verb: 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete' | 'other'
  /** The caller checks it: absent when no kind matches the path. */
  readonly kind: KindRef
  readonly namespace: string | undefined
  readonly key: Key | undefined
  readonly subresource: string | undefined
  readonly query: URLSearchParams
}

const VERBS: Readonly<Record<string, Target['verb']>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}
const PATH = /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/

export function parseTarget(request: IncomingMessage, kinds: readonly KindRef[]): Target {
  const url = new URL(request.url ?? '/', 'http://server')
  const [, group = '', version, namespace, plural, name, subresource] = PATH.exec(url.pathname) ?? []
  const kind = kinds.find((known) => known.group === group && known.version === version && known.plural === plural)
  const key = name === undefined ? undefined : { ...(namespace === undefined ? {} : { namespace }), name }
  const reading = name !== undefined ? 'get' : url.searchParams.get('watch') === 'true' ? 'watch' : 'list'
  const verb = kind === undefined ? 'other' : (VERBS[request.method ?? ''] ?? reading)
  return { verb, kind: kind as KindRef, namespace, key, subresource, query: url.searchParams }
}

export function statusOf(code: number, reason = '', message = `status ${code}`, target?: Target) {
  const details = target?.key && reason !== 'KindNotServed' ? { name: target.key.name, kind: target.kind.plural } : {}
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code }
}
