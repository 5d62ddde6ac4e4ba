// Everything that a decision about one AddonDelivery depends on, read once, and the actions it may return.
import type {
  AddonDelivery,
  AddonPipeline,
  AddonStage,
  AnyObject,
  ClusterFacts,
  StageStatus,
  UnknownObject,
} from '#api'
import type { MatrixFault } from '#catalog'
import type { Projected } from '#kube'
import type { Finding } from './health/finding.ts'
import type { Target } from './health/read.ts'
import type { ObservedProbe } from './probe/observe.ts'
import type { ForeignSet } from './resource-set/foreign-sets.ts'
import type { Absence } from './resource-set/presence.ts'
import type { Part } from './resource-set/render-part.ts'
import type { SkippedStage } from './stages/auto-mode.ts'
import type { Rendered } from './stages/render/rendered.ts'
import type { PreflightCheck } from './stages/stage-type.ts'
import type { ObservedTeardown, TeardownAction } from './teardown/observed.ts'

/** One payload in core's binding, compared with what capt rendered. */
export interface DeliveredRow {
  readonly set: string
  readonly kind: string
  readonly name: string
  readonly applied: boolean
  readonly bindingHash: string | undefined
  readonly ourHash: string
  readonly equal: boolean
}

export interface ObservedPart {
  readonly part: Part
  /** Its payloads and its set are there as wanted. */
  readonly isWritten: boolean
  readonly rows: readonly DeliveredRow[]
  /** The problem that the set's own condition reports. */
  readonly complaint: string | undefined
  /** Undefined while the workload cluster was not read. */
  readonly findings: readonly Finding[] | undefined
  /** Objects that were delivered and are not there. */
  readonly absence: Absence | undefined
}

/** What was found in the workload cluster before the first delivery. */
export type Existing =
  | { readonly is: 'nothing' | 'ours' | 'unknown' }
  | { readonly is: 'foreign'; readonly version: string | undefined; readonly how: string }
  | { readonly is: 'newer'; readonly version: string }

/** The objects that one preflight check reads. */
export interface ObservedPreflight {
  readonly check: PreflightCheck
  readonly found: readonly UnknownObject[]
}

export interface ObservedStage {
  readonly stage: AddonStage
  readonly isWanted: boolean
  /** A person set the gate label. */
  readonly isEarly: boolean
  readonly gate: { readonly label: string; readonly isSet: boolean; readonly isOurs: boolean } | undefined
  readonly rendered: Rendered | undefined
  readonly parts: readonly ObservedPart[]
  readonly existing: Existing
  /** Read only before content changes. */
  readonly preflight: readonly ObservedPreflight[]
  readonly hasSets: boolean
  /** Sets of parts that the stage no longer has: `fluxcd-installer-probe-demo` when Karpenter is no longer requested. */
  readonly obsoleteSets: readonly string[]
  readonly before: StageStatus | undefined
  /** The verification that nodes join; undefined when there is no probe to observe. */
  readonly probe?: ObservedProbe | undefined
}

export type ObservedWorkload =
  | { readonly is: 'open' }
  | { readonly is: 'absent' }
  | { readonly is: 'unreachable' | 'unauthorized' | 'forbidden'; readonly message: string }

export interface ObservedDelivery {
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: ClusterFacts | undefined
  readonly pipeline: Projected<AddonPipeline> | undefined
  /** The pipeline exists and does not allow deliveries of this namespace; it counts as absent. */
  readonly isPipelineForbidden: boolean
  /** Which revision of the pipeline that is. `unknown`: an earlier one whose content is gone. */
  readonly revision?: { readonly is: 'newest' | 'earlier' | 'unknown'; readonly revision: string } | undefined
  readonly pause: string | undefined
  /** Another pipeline wants the same stage: `stage flux is also wanted by default/other`. */
  readonly conflict: string | undefined
  readonly planFault: { readonly message: string; readonly hint: string } | undefined
  readonly kubernetes: string | undefined
  readonly faults: readonly MatrixFault[]
  readonly areSetsServed: boolean
  readonly isLabelled: boolean
  /** The delivery has the label and the owner reference by which others find it. */
  readonly isAdopted: boolean
  readonly workload: ObservedWorkload
  /** Changes in the workload cluster trigger a reconcile; otherwise it is polled. */
  readonly isWatched: boolean
  readonly stages: readonly ObservedStage[]
  /** Sets of people that act on a label which asks for one of the stages. */
  readonly foreignSets?: readonly ForeignSet[]
  /** Stages that EKS Auto Mode makes needless. */
  readonly skipped?: readonly SkippedStage[]
  readonly teardown: ObservedTeardown | undefined
  readonly nowMs: number
}

export type DeliveryAction =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'adopt' | 'label-cluster' | 'clear-confirmation' }
  | { readonly do: 'open-gate'; readonly label: string; readonly stage: string }
  | { readonly do: 'deliver'; readonly stage: AddonStage; readonly part: Part }
  /** `why`: what is missing or wrong, for the event. */
  | { readonly do: 'redeliver'; readonly stage: AddonStage; readonly part: Part; readonly why: string }
  | { readonly do: 'nudge'; readonly stage: AddonStage; readonly part: Part; readonly attempt: number }
  /** Asks Flux to reconcile a source or a release now. */
  | { readonly do: 'retry-flux'; readonly target: Target; readonly attempt: number }
  /** A set that no part of the stage needs any more, with what it delivered. */
  | { readonly do: 'retire-set'; readonly set: string }
  /** A set whose objects others keep now: they stay, without our label. */
  | { readonly do: 'hand-over-set'; readonly set: string; readonly to: string }
  | { readonly do: 'create-probe'; readonly pod: AnyObject }
  | { readonly do: 'remove-probe'; readonly stage: string }
  | { readonly do: 'teardown'; readonly action: TeardownAction }
