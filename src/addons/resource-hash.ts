// The hash that core's ClusterResourceSet controller writes into a binding: over the values alone, in the order of
// their keys, with nothing between them. Equal hashes are the only proof of delivery there is.
import { createHash } from 'node:crypto'

export function resourceSetHash(values: Readonly<Record<string, string | Uint8Array>>): string {
  const digest = createHash('sha256')
  for (const key of Object.keys(values).sort(byBytes)) digest.update(values[key]!)
  return `sha256:${digest.digest('hex')}`
}

/** Go sorts strings by bytes; JavaScript by UTF-16 units. Keys of a ConfigMap are ASCII, but the promise is exact. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
