// A part of a stage: one ClusterResourceSet, its payloads, and the checks that must pass before the next part.
import { keyedHash } from '#lib'
import type { Check } from '../health/read.ts'
import { type Manifest, splitManifests } from '../manifests/manifests.ts'
import { payloadKey, payloadName, setName } from '../names.ts'

export interface Payload {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
  readonly key: string
  readonly text: string
  readonly hash: string
  /** Used by every Cluster of the namespace: owned by the sets alone. */
  readonly shared: boolean
}

export interface Part {
  readonly name: string
  readonly set: string
  readonly manifests: readonly Manifest[]
  readonly payloads: readonly Payload[]
  readonly checks: readonly Check[]
}

export function renderPart(
  input: { readonly stage: { readonly name: string }; readonly cluster: string },
  name: string,
  manifests: readonly Manifest[],
  checks: readonly Check[],
  options: { readonly shared?: (index: number) => string; readonly secret?: boolean } = {},
): Part {
  return {
    name,
    set: setName(input.stage.name, name, input.cluster),
    manifests,
    payloads: toPayloads(input.stage.name, name, input.cluster, manifests, options),
    checks,
  }
}

/** The same part on payloads of this Cluster alone. */
export function toOwnPart(part: Part, stage: string, cluster: string): Part {
  const payloads = part.payloads.map((payload, index) =>
    payload.shared ? { ...payload, name: payloadName(stage, part.name, cluster, index), shared: false } : payload,
  )
  return { ...part, payloads }
}

export function toPayloads(
  stage: string,
  part: string,
  cluster: string,
  manifests: readonly Manifest[],
  options: { readonly shared?: (index: number) => string; readonly secret?: boolean } = {},
): readonly Payload[] {
  return splitManifests(manifests).map((text, index): Payload => {
    const key = payloadKey(stage, index)
    return {
      kind: options.secret ? 'Secret' : 'ConfigMap',
      name: options.shared?.(index) ?? payloadName(stage, part, cluster, index),
      key,
      text,
      hash: keyedHash({ [key]: text }),
      shared: options.shared !== undefined,
    }
  })
}
