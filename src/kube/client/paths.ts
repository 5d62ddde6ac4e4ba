// Where an object lives on an API server. Pure; every part that came from outside is escaped.
import { type Key, type KindRef, keyText } from '#api'
import { KubeError } from '../port.ts'

/** `ConfigMap default/settings`, for messages. */
export function nameOf(kind: KindRef, key: Key): string {
  return `${kind.kind} ${keyText(key)}`
}

export function collectionPath(kind: KindRef, namespace?: string): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`
  const scope = kind.namespaced && namespace ? `/namespaces/${toSegment(namespace, 'namespace')}` : ''
  return `${root}${scope}/${kind.plural}`
}

export function objectPath(kind: KindRef, key: Key, subresource?: string): string {
  if (kind.namespaced && !key.namespace) {
    throw new KubeError('Invalid', `${nameOf(kind, key)}: metadata.namespace is missing`, {
      hint: `${kind.kind} is a namespaced kind: name the namespace`,
    })
  }
  const tail = subresource === undefined ? '' : `/${subresource}`
  return `${collectionPath(kind, key.namespace)}/${toSegment(key.name, 'name')}${tail}`
}

export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  if (entries.length === 0) return path
  return `${path}?${entries.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`
}

// A name that would lead to another path is never sent.
function toSegment(text: string, what: string): string {
  if (text === '' || text === '.' || text === '..' || /[/%]/.test(text)) {
    throw new KubeError('Invalid', `metadata.${what}: "${text}" cannot be part of an API path`, {
      hint: `a ${what} is not empty, not "." or "..", and has no "/" or "%"`,
    })
  }
  return encodeURIComponent(text)
}
