// A hash over values alone, in the order of their keys, with nothing between them: what Cluster API records about the
// content of a ConfigMap or Secret.
import { createHash } from 'node:crypto'

export function keyedHash(values: Readonly<Record<string, string | Uint8Array>>): string {
  const digest = createHash('sha256')
  for (const key of Object.keys(values).sort(byBytes)) digest.update(values[key]!)
  return `sha256:${digest.digest('hex')}`
}

/** Go sorts strings by bytes, JavaScript by UTF-16 units. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
