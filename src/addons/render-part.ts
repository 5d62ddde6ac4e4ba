// A part of a stage: one ClusterResourceSet, what it carries, and what must be true before the next part goes out.
import { keyedHash } from '#lib'
import type { Check } from './health-read.ts'
import { type Manifest, splitManifests } from './manifests.ts'
import { carrierKey, carrierName, setName } from './names.ts'

export interface Carrier {
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
  readonly carriers: readonly Carrier[]
  readonly checks: readonly Check[]
}

export function renderPart(
  input: { readonly stage: { readonly name: string }; readonly cluster: string },
  name: string,
  manifests: readonly Manifest[],
  checks: readonly Check[],
  carrying: { readonly shared?: (index: number) => string; readonly secret?: boolean } = {},
): Part {
  return {
    name,
    set: setName(input.stage.name, name, input.cluster),
    manifests,
    carriers: toCarriers(input.stage.name, name, input.cluster, manifests, carrying),
    checks,
  }
}

/** The same part on carriers of this Cluster alone. */
export function toOwnPart(part: Part, stage: string, cluster: string): Part {
  const carriers = part.carriers.map((carrier, index) =>
    carrier.shared ? { ...carrier, name: carrierName(stage, part.name, cluster, index), shared: false } : carrier,
  )
  return { ...part, carriers }
}

export function toCarriers(
  stage: string,
  part: string,
  cluster: string,
  manifests: readonly Manifest[],
  carrying: { readonly shared?: (index: number) => string; readonly secret?: boolean } = {},
): readonly Carrier[] {
  return splitManifests(manifests).map((text, index): Carrier => {
    const key = carrierKey(stage, index)
    return {
      kind: carrying.secret ? 'Secret' : 'ConfigMap',
      name: carrying.shared?.(index) ?? carrierName(stage, part, cluster, index),
      key,
      text,
      hash: keyedHash({ [key]: text }),
      shared: carrying.shared !== undefined,
    }
  })
}
