// What a person may choose, and what a decision consists of.
import type { NodePoolObject } from '#catalog'

export interface Options {
  readonly subnets?: readonly string[]
  readonly securityGroup?: string
  readonly nodeGroups?: readonly string[]
  readonly version?: string
  readonly namespace?: string
  readonly identity?: 'irsa' | 'pod-identity'
  readonly discoveryTag?: string
  /** Alias of the image to pin. */
  readonly image?: string
  /** Pools and classes to make instead of the default ones. */
  readonly pools?: readonly NodePoolObject[]
  /** Stop the Cluster Autoscaler and shrink the node groups once Karpenter works. */
  readonly replaceAutoscaler?: boolean
  /** Bring Flux into a cluster that has none. */
  readonly withFlux?: boolean
  /** Choose the version and the image again instead of keeping those of the installation. */
  readonly isUpgrade?: boolean
}

export interface Chosen<T> {
  readonly value: T
  /** Why, in a few words. */
  readonly reason: string
}

export interface Refusal {
  readonly code: string
  /** The flag that decides it, or what is in the way. */
  readonly field: string
  readonly message: string
  /** The next step. */
  readonly hint: string
}

export type Refuse = (code: string, field: string, message: string, hint: string) => void
