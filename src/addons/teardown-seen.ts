// The steps by which add-ons leave a cluster, and what was seen of the one under way.
import type { Key, KindRef, TeardownStep } from '#api'
import type { CloudObject } from './port.ts'

export type StepType =
  /** ClusterResourceSets in the management cluster, so that nothing is delivered again. */
  | 'sets'
  /** The pod that proves that machines come: it would ask for another one. */
  | 'probe'
  | 'node-pools'
  | 'node-claims'
  /** Services, Ingresses and Gateways that hold load balancers. First of all, while their controllers run. */
  | 'load-balancers'
  | 'node-classes'
  | 'release'
  | 'definitions'
  /** What a stage delivered, in reverse order. */
  | 'objects'
  /** What carries the cluster's tags in the cloud, last: whatever the other steps did not remove is found here. */
  | 'cloud'
  /** Gate label and carriers, last: only then may the stage come back. */
  | 'gate'

export interface Step {
  /** `karpenter/node-claims`; unique in one teardown. */
  readonly name: string
  readonly stage: string
  readonly type: StepType
  readonly timeoutMs: number
  /** NodePool of the stage; every pool when left out. */
  readonly pool?: string
  readonly namespace?: string
}

export interface Thing {
  readonly kind: KindRef
  readonly key: Key
  readonly isDeleting: boolean
  readonly finalizers: readonly string[]
}

export interface StepSight {
  readonly step: Step
  /** What is still there. */
  readonly left: readonly Thing[]
  /** Somebody other than capt still needs what the step would remove. */
  readonly inUse: readonly string[]
  /** Whether the controller that finishes the deletion is running; undefined when none is needed. */
  readonly isControllerAlive: boolean | undefined
  /** Nodes of the NodeClaims that are left, read when Karpenter is not running: each claim waits for its Node. */
  readonly nodes?: readonly Thing[]
}

/** What a cluster has in the cloud, found by its tags. */
export interface Survey {
  readonly instances: readonly string[]
  /** Volumes that outlive the machines. */
  readonly volumes: readonly string[]
  /** Undefined when there is no cloud to search, or when nobody asked. */
  readonly network: readonly CloudObject[] | undefined
  /** What could not be listed. */
  readonly faults: readonly { readonly what: 'instances' | 'volumes' | 'load balancers'; readonly message: string }[]
}

export interface TeardownSeen {
  /** `cluster`: everything goes, the control plane follows. `wish`: some stages are no longer wanted. */
  readonly cause: 'cluster' | 'wish'
  readonly startedAt: string
  readonly unreachableSince: string | undefined
  /** Steps that have ended, those of earlier turns and those found to have nothing to do. */
  readonly ended: readonly TeardownStep[]
  readonly current:
    | { readonly sight: StepSight | undefined; readonly step: Step; readonly startedAt: string }
    | undefined
  readonly isWorkloadOpen: boolean
  readonly isWorkloadAbsent: boolean
  /** Read for the last step, and when Karpenter is not running. */
  readonly survey: Survey | undefined
  readonly mayTerminate: boolean
  readonly mayDeleteNetwork: boolean
  readonly leftovers: readonly string[]
  /** Nothing was ever delivered. */
  readonly isEmpty: boolean
  /** The summary of a teardown that has ended. It is final: nothing is read or removed any more. */
  readonly finished?: string
}

export type TeardownAction =
  | {
      readonly do: 'delete'
      readonly things: readonly Thing[]
      readonly where: 'home' | 'workload'
      readonly foreground?: boolean
    }
  | { readonly do: 'strip-finalizers'; readonly things: readonly Thing[]; readonly finalizers: readonly string[] }
  | { readonly do: 'terminate'; readonly instances: readonly string[] }
  | { readonly do: 'remove-network'; readonly objects: readonly CloudObject[] }
  | { readonly do: 'close-gate'; readonly stage: string }
