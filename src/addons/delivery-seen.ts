// All that a decision about one AddonDelivery needs to know, read once, and the things it may ask for.
import type { AddonDelivery, AddonPipeline, AddonStage, ClusterFacts, StageStatus } from '#api'
import type { MatrixFault } from '#catalog'
import type { Projected } from '#kube'
import type { Finding } from './health-finding.ts'
import type { Target } from './health-read.ts'
import type { ProbeSeen } from './observe-probe.ts'
import type { Absence } from './presence.ts'
import type { Part } from './render-part.ts'
import type { Rendered } from './render-stage.ts'
import type { TeardownAction, TeardownSeen } from './teardown-seen.ts'

/** One carrier as the binding and we see it. */
export interface DeliveredRow {
  readonly set: string
  readonly kind: string
  readonly name: string
  readonly applied: boolean
  readonly bindingHash: string | undefined
  readonly ourHash: string
  readonly equal: boolean
}

export interface PartSeen {
  readonly part: Part
  /** Its carriers and its set are there as wanted. */
  readonly isWritten: boolean
  readonly rows: readonly DeliveredRow[]
  /** What the set's own condition complains of. */
  readonly complaint: string | undefined
  /** Undefined while nobody has looked into the workload cluster. */
  readonly findings: readonly Finding[] | undefined
  /** Objects that were delivered and are not there. */
  readonly absence: Absence | undefined
}

/** What was found in the workload cluster before the first delivery. */
export type Existing =
  | { readonly is: 'nothing' | 'ours' | 'unknown' }
  | { readonly is: 'foreign'; readonly version: string | undefined; readonly how: string }
  | { readonly is: 'newer'; readonly version: string }
  /** Going on would do harm: two of the same, or objects that the new version cannot read. */
  | { readonly is: 'blocked'; readonly code: string; readonly message: string; readonly hint: string }

export interface StageSeen {
  readonly stage: AddonStage
  readonly isWanted: boolean
  /** A person set the gate label. */
  readonly isEarly: boolean
  readonly gate: { readonly label: string; readonly isSet: boolean; readonly isOurs: boolean } | undefined
  readonly rendered: Rendered | undefined
  readonly parts: readonly PartSeen[]
  readonly existing: Existing
  readonly hasSets: boolean
  /** Sets of parts that the stage no longer has: `fluxcd-installer-probe-demo` when nobody wants Karpenter any more. */
  readonly obsoleteSets: readonly string[]
  readonly before: StageStatus | undefined
  /** The proof that machines come; undefined when there is nothing to look for. */
  readonly probe?: ProbeSeen | undefined
}

export type WorkloadSight =
  | { readonly is: 'open' }
  | { readonly is: 'absent' }
  | { readonly is: 'unreachable' | 'unauthorized' | 'forbidden'; readonly message: string }

export interface DeliverySeen {
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: ClusterFacts | undefined
  readonly pipeline: Projected<AddonPipeline> | undefined
  /** The pipeline exists and does not allow deliveries of this namespace; it counts as absent. */
  readonly isPipelineForbidden: boolean
  readonly pause: string | undefined
  /** Another pipeline wants the same stage: `stage flux is also wanted by default/other`. */
  readonly conflict: string | undefined
  readonly planFault: { readonly message: string; readonly hint: string } | undefined
  readonly kubernetes: string | undefined
  readonly faults: readonly MatrixFault[]
  readonly areSetsServed: boolean
  readonly isLabelled: boolean
  /** The delivery carries the label and the owner reference by which others find it. */
  readonly isAdopted: boolean
  readonly workload: WorkloadSight
  /** Changes in the workload cluster wake us; otherwise it must be looked at by the clock. */
  readonly isWatched: boolean
  readonly stages: readonly StageSeen[]
  readonly teardown: TeardownSeen | undefined
  readonly nowMs: number
}

export type DeliveryAction =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'adopt' | 'label-cluster' }
  | { readonly do: 'open-gate'; readonly label: string }
  | { readonly do: 'deliver'; readonly stage: string; readonly part: number }
  /** `why`: what is missing or wrong, for the event. */
  | { readonly do: 'redeliver'; readonly stage: string; readonly part: number; readonly why: string }
  | { readonly do: 'nudge'; readonly stage: string; readonly part: number; readonly attempt: number }
  /** Asks Flux to reconcile a source or a release now. */
  | { readonly do: 'retry-flux'; readonly target: Target; readonly attempt: number }
  /** A set that no part of the stage needs any more, with what it delivered. */
  | { readonly do: 'retire-set'; readonly set: string }
  | { readonly do: 'create-probe' | 'remove-probe'; readonly stage: string }
  | { readonly do: 'teardown'; readonly action: TeardownAction }
