// The steps that remove add-ons from a cluster, and what was observed of the current one.
import type { Key, KindRef, TeardownStep } from '#api'
import type { Objects } from '#kube'
import type { CloudObject } from '../../shared/workload.ts'
import type { TeardownContext } from './observe.ts'

export interface Step {
  /** `karpenter/node-claims`; unique in one teardown. */
  readonly name: string
  readonly stage: string
  readonly type: string
  readonly timeoutMs: number
  /** Where it removes something: in the management cluster, in the workload cluster or in the cloud. */
  readonly where: 'home' | 'workload' | 'cloud'
  /** Reads what is left, for a step in the workload cluster. */
  readonly observe?: (objects: Objects, step: Step, context: TeardownContext) => Promise<ObservedStep>
  /** NodePool of the stage; every pool when left out. */
  readonly pool?: string
  /** Removes what has something in the cloud while Karpenter runs: pools and claims machines, classes instance profiles. */
  readonly isOfNodes?: boolean
  /** Ends as soon as everything is marked for deletion; the next step waits for what depends on it. */
  readonly endsWhenDeleting?: boolean
  /** A controller deletes the objects: capt does only when half of the timeout is over. */
  readonly isLeftToController?: boolean
  /** Instances found by tag are terminated when the controller is dead. */
  readonly isSurveyed?: boolean
  /** Skipped when nodes were left: objects of these definitions would hang. */
  readonly needsNodesGone?: boolean
  /** Stripped when the controller that removes them is dead. */
  readonly finalizers?: readonly string[]
}

export interface Thing {
  readonly kind: KindRef
  readonly key: Key
  readonly isDeleting: boolean
  readonly finalizers: readonly string[]
}

export interface ObservedStep {
  readonly step: Step
  /** What is still there. */
  readonly left: readonly Thing[]
  /** Foreign users of what the step would remove. */
  readonly inUse: readonly string[]
  /** Whether the controller that finishes the deletion is running; undefined when none is needed. */
  readonly isControllerAlive: boolean | undefined
  /** Nodes of the NodeClaims that are left, read when Karpenter is not running: each claim waits for its Node. */
  readonly nodes?: readonly Thing[]
  /** What keeps nodes from draining; read only when that takes long. */
  readonly heldBy?: readonly string[]
}

/** What a cluster has in the cloud, found by its tags. */
export interface Survey {
  readonly instances: readonly string[]
  /** Volumes that outlive the machines. */
  readonly volumes: readonly string[]
  /** Instance profiles that Karpenter made. */
  readonly profiles: readonly string[]
  /** Undefined when there is no cloud to search, or when it was not searched. */
  readonly network: readonly CloudObject[] | undefined
  /** What could not be listed. */
  readonly faults: readonly {
    readonly what: 'instances' | 'volumes' | 'instance profiles' | 'load balancers'
    readonly message: string
  }[]
}

export interface ObservedTeardown {
  /** `cluster`: everything goes, the control plane follows. `stages`: some stages are no longer wanted. */
  readonly cause: 'cluster' | 'stages'
  readonly startedAt: string
  readonly unreachableSince: string | undefined
  /** Steps that have ended, recorded earlier or found to have nothing to do. */
  readonly ended: readonly TeardownStep[]
  readonly current:
    | { readonly observedStep: ObservedStep | undefined; readonly step: Step; readonly startedAt: string }
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
  /** Pods that would have nowhere to go, and nobody has confirmed it: nothing is removed before. */
  readonly unconfirmed?: readonly string[]
  /** The stages that go. */
  readonly going?: readonly string[]
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
