// Karpenter's objects as far as the simulation reads them, and the words they share.
import { type AnyObject, DeploymentKind, type KindRef, keyOf } from '#api'
import type { Cache } from '#kube'
import type { Stage } from '../actor.ts'
import { isRunning } from '../flux/sources.ts'

export interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}
export interface NodePool extends AnyObject {
  readonly spec?: {
    readonly limits?: Readonly<Record<string, string | number>>
    readonly template?: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
      readonly spec?: {
        readonly nodeClassRef?: { readonly name: string }
        readonly requirements?: readonly Requirement[]
        readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[]
        readonly terminationGracePeriod?: string
      }
    }
  }
  readonly status?: { readonly conditions?: unknown }
}
export interface NodeClaim extends AnyObject {
  readonly spec?: {
    readonly requirements?: readonly Requirement[]
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[]
    readonly nodeClassRef?: { readonly name: string }
    /** A drain that takes longer is cut short. */
    readonly terminationGracePeriod?: string
  }
  readonly status?: { readonly conditions?: unknown; readonly nodeName?: string; readonly providerID?: string }
}

export const CLASS_FINALIZER = 'karpenter.k8s.aws/termination'
export const CLAIM_FINALIZER = 'karpenter.sh/termination'
export const POOL_LABEL = 'karpenter.sh/nodepool'

/** Whether somebody answers pods that no node takes. */
export const isAlive = ({ isAutoMode }: Pick<Stage, 'isAutoMode'>, cache: Cache): boolean =>
  isAutoMode === true || isRunning(cache, 'karpenter')

/** Wakes all objects of a kind when the controller comes or goes. */
export const wakeOnController = (kind: KindRef) => ({
  kind: DeploymentKind,
  toKeys: (object: AnyObject, cache: Cache) =>
    object.metadata.name === 'karpenter' ? cache.list(kind).map(keyOf) : [],
})
