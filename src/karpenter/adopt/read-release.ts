// Reads the Helm release of Karpenter in a cluster as Helm keeps it: a Secret for each revision, packed twice. Values are those that
// people gave. Nothing is changed.
import { gunzipSync } from 'node:zlib'
import { type Secret, SecretKind } from '#api'
import { KARPENTER_RELEASE } from '#catalog'
import type { Objects } from '#kube'
import { isPlainObject, type JsonObject, parseJson } from '#lib'
import type { ReleaseFacts } from '../migrate/read-state.ts'

/** Undefined when the Karpenter of that namespace is no Helm release of the usual name. */
export async function readHelmRelease(objects: Objects, namespace: string): Promise<ReleaseFacts | undefined> {
  const labelSelector = `owner=helm,name=${KARPENTER_RELEASE},status=deployed`
  let newest: Secret | undefined
  for await (const secret of objects.list<Secret>(SecretKind, { namespace, labelSelector }))
    if (!newest || revisionOf(secret) > revisionOf(newest)) newest = secret
  return newest && toFacts(newest, namespace)
}

const revisionOf = ({ metadata }: Secret): number => Number(metadata.labels?.['version'] ?? 0)

export function toFacts({ data, metadata }: Pick<Secret, 'data' | 'metadata'>, namespace: string): ReleaseFacts {
  const release = unpack(data?.['release'] ?? '')
  const chart = isPlainObject(release['chart']) ? release['chart'] : {}
  const about = isPlainObject(chart['metadata']) ? chart['metadata'] : {}
  const { config } = release
  return {
    address: `Secret ${metadata.name}`,
    name: typeof release['name'] === 'string' ? release['name'] : undefined,
    namespace,
    version: typeof about['version'] === 'string' ? about['version'] : undefined,
    ...(isPlainObject(config) ? { values: config as JsonObject } : {}),
    hidden: [],
  }
}

/** Helm packs and encodes the release; Kubernetes encodes that once more. */
function unpack(encoded: string): Readonly<Record<string, unknown>> {
  try {
    const inner = Buffer.from(Buffer.from(encoded, 'base64').toString('utf8'), 'base64')
    const parsed: unknown = parseJson(gunzipSync(inner).toString('utf8'))
    return isPlainObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
