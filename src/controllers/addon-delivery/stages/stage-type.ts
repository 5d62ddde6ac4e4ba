// What a stage type defines: everything that differs between the types is here, and registry.ts lists the types. Only
// the schema is elsewhere, as an entry of `stageTypes` in api/kinds, because api imports no controller.
import type { AddonStage, Key, KindRef, StageStatus, UnknownObject } from '#api'
import type { Objects } from '#kube'
import type { Existing, ObservedDelivery, ObservedStage } from '../observed.ts'
import type { DeliveryPorts } from '../ports.ts'
import type { Step } from '../teardown/observed.ts'
import type { ChartSource } from './registry-access.ts'
import type { Rendered, StageInput } from './render/rendered.ts'
import type { Fault, Verdict } from './verdict.ts'

export interface StageType {
  /** Component whose version the matrix chooses. */
  readonly component?: keyof StageInput['versions']
  /** Parts in order, each with its manifests and the health checks that must pass before the next part. Pure. */
  readonly render: (input: StageInput) => Rendered
  /** Reads what rendering needs beyond the pipeline and its variables. */
  readonly readInput?: (stage: AddonStage, from: InputSources) => Promise<Partial<StageInput>>
  /** Manifest sources in the namespace of the pipeline: a change of one triggers the deliveries. */
  readonly sources?: (stage: AddonStage) => readonly SourceRef[]
  /** The chart that Flux must be able to fetch before it counts as healthy. Only with `component`. */
  readonly chart?: (stage: AddonStage, version: string, override: Override | undefined) => Chart
  /** An installation that capt did not make: how to find it, and what to do about it. */
  readonly existing?: {
    readonly read: (objects: Objects) => Promise<readonly UnknownObject[]>
    readonly find: (objects: readonly UnknownObject[], version: string | undefined) => Installed
    readonly decide: (observed: ObservedStage, all: ObservedDelivery, before: StageStatus | undefined) => Verdict
  }
  /** What must not be in the workload cluster when content changes. */
  readonly preflight?: (stage: AddonStage, rendered: ReadyStage, existing: Existing) => readonly PreflightCheck[]
  /** Whether a probe pod must run before the stage is healthy. */
  readonly verification?: (stage: AddonStage) => ProbeOptions | undefined
  /** Steps that remove the stage from the workload cluster, in order. */
  readonly removal: (stage: AddonStage, options: { readonly nodesTimeoutMs: number }) => readonly StepDraft[]
}

export type Override = NonNullable<StageInput['override']>

export interface Chart {
  readonly url: string
  readonly tag: string
  readonly source: ChartSource
}

export type ReadyStage = Extract<Rendered, { is: 'ready' }>

export interface SourceRef {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
}

/** Where the input of a stage is read from. */
export interface InputSources {
  readonly ports: Pick<DeliveryPorts, 'fetchText'>
  readonly management: Objects
  /** Of the pipeline. */
  readonly namespace: string
  /** Of the Cluster and its delivery. */
  readonly clusterNamespace: string
  readonly override: Override | undefined
  readonly workload: Objects | undefined
  readonly known: Pick<StageInput, 'versions' | 'isFluxAdopted'>
}

export interface Installed {
  readonly existing: Existing
  /** Namespace of its controllers. */
  readonly namespace: string
}

/** Which objects to read, and what they mean. Reading is the observer's; deciding is pure. */
export interface PreflightCheck {
  readonly kind: KindRef
  readonly where: { readonly labelSelector: string } | Key
  readonly decide: (found: readonly UnknownObject[]) => Blocker | undefined
}

export type Blocker = Fault

interface ProbeOptions {
  readonly pool: string
  readonly image: string
  readonly timeout: string
}

/** A step without what its stage determines. */
export type StepDraft = Omit<Step, 'name' | 'stage' | 'timeoutMs' | 'where'> & Partial<Pick<Step, 'timeoutMs'>>
