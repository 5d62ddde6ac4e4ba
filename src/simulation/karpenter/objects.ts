// Karpenter's objects as far as the simulation reads them, and the words they share.
import type { AnyObject, KindRef } from '#api'
import type { Cache } from '#kube'
import { isRunning, type Stage, wakeOnDeployment } from '../actor.ts'
import type { Taint } from '../kubernetes/placement.ts'

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
        readonly taints?: readonly Taint[]
        readonly terminationGracePeriod?: string
      }
    }
  }
  readonly status?: { readonly conditions?: unknown }
}
export interface NodeClaim extends AnyObject {
  readonly spec?: {
    readonly requirements?: readonly Requirement[]
    readonly taints?: readonly Taint[]
    readonly nodeClassRef?: { readonly name: string }
    /** A drain that takes longer is cut short. */
    readonly terminationGracePeriod?: string
  }
  readonly status?: { readonly conditions?: unknown; readonly nodeName?: string; readonly providerID?: string }
}

export const CLASS_FINALIZER = 'karpenter.k8s.aws/termination'
export const CLAIM_FINALIZER = 'karpenter.sh/termination'
export const POOL_LABEL = 'karpenter.sh/nodepool'

/** Whether a controller answers pods that no node takes. */
export const isAlive = ({ isAutoMode }: Pick<Stage, 'isAutoMode'>, cache: Cache): boolean =>
  isAutoMode === true || isRunning(cache, 'karpenter')

export const wakeOnController = (kind: KindRef) => wakeOnDeployment(kind, 'karpenter')
