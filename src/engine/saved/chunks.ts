// Bytes that are larger than a Secret, cut into several of them, which are held until we let them go.
import type { Secret } from '#api'
import { keptMetadata, type Owner, transientMetadata } from '../owner.ts'

/** A Secret holds 1 MiB at most; base64 and metadata must fit into one request too. */
const PART_BYTES = 768 * 1024

type Kept = 'bundle' | 'plan'

export function toParts(owner: Owner, kept: Kept, packed: Buffer, nameOf: (part: number) => string): readonly Secret[] {
  return Array.from({ length: countParts(packed) }, (_, part) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: kept === 'plan' ? transientMetadata(owner, nameOf(part), kept) : keptMetadata(owner, nameOf(part), kept),
    type: 'Opaque',
    data: { [kept]: packed.subarray(part * PART_BYTES, (part + 1) * PART_BYTES).toString('base64') },
  }))
}

export function countParts(packed: Buffer): number {
  return Math.ceil(packed.length / PART_BYTES)
}

export function readPart({ data }: Secret, kept: Kept): Buffer | undefined {
  const text = data?.[kept]
  return text === undefined ? undefined : Buffer.from(text, 'base64')
}
