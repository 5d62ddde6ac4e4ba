// What the server of the page sends, by name of the event. Made from trees and rows of #view: no object of the API server
// is sent as it is.
import type { Branch, NodeRow, State, Stop } from '#view'

export type { Branch, NodeRow, State }

export interface Hello {
  readonly version: string
  /** Address of the API server. */
  readonly server: string
  /** Where only one namespace is shown. */
  readonly namespace?: string
  readonly allowWrites: boolean
  /** What is not shown, and why. */
  readonly notices: readonly string[]
}

export interface FleetRow {
  /** `namespace/name` */
  readonly id: string
  readonly namespace: string
  readonly name: string
  readonly state: State
  readonly word: string
  readonly fact: string
  readonly version: string
  readonly region: string
  readonly since?: string
  /** The Terraform run in progress. */
  readonly run?: { readonly verb: string; readonly done: number; readonly of: number }
  /** Plans that wait for approval. */
  readonly plans: number
  /** What does not go on, plans aside. */
  readonly stops: number
}

interface PlannedChange {
  readonly address: string
  readonly action: string
  readonly reason?: string
}

export interface PlanSummary {
  readonly hash?: string
  readonly add: number
  readonly change: number
  readonly destroy: number
  readonly replace: number
  readonly approval?: string
  readonly approvedBy?: string
  readonly changes: readonly PlannedChange[]
  readonly more: number
}

/** A WorkspaceTemplateApply and its run: the one in progress, or the last one. */
export interface RunView {
  readonly name: string
  /** Kind of the object that it belongs to. */
  readonly owner: string
  readonly state: State
  readonly word: string
  readonly fact: string
  readonly stop?: Stop
  readonly verb?: string
  readonly phase?: string
  readonly done?: number
  readonly of?: number
  readonly address?: string
  readonly attempt?: number
  readonly startedAt?: string
  readonly finishedAt?: string
  readonly queue?: string
  readonly resources?: number
  readonly plan?: PlanSummary
}

export interface NamedStop {
  readonly name: string
  readonly stop: Stop
}

/** One stage of an add-on pipeline. */
export interface StageView {
  readonly name: string
  readonly state: State
  readonly word: string
  readonly version: string
  /** Undefined: nothing was delivered yet. */
  readonly delivered?: boolean
  readonly healthy: 'True' | 'False' | 'Unknown'
  readonly evidence: readonly string[]
  readonly message: string
  readonly gate?: { readonly label: string; readonly open: boolean }
  readonly took: string
}

export interface TimelineEntry {
  readonly id: string
  readonly time: string
  readonly isWarning: boolean
  readonly reason: string
  readonly message: string
  /** `WorkspaceTemplateApply/demo-vpc` */
  readonly about: string
  readonly count: number
}

/** Sections of the view of one cluster; only those that changed are sent. */
export interface ClusterSections {
  readonly row: FleetRow
  readonly tree: Branch
  /** Why it does not go on; plans that wait for approval aside. */
  readonly stops: readonly NamedStop[]
  readonly runs: readonly RunView[]
  readonly nodes: readonly NodeRow[]
  readonly stages: readonly StageView[]
  readonly events: readonly TimelineEntry[]
}

export interface LogMessage {
  readonly run: string
  /** Replaces what was sent before. */
  readonly reset: boolean
  readonly lines: readonly string[]
  /** Why there are no lines. */
  readonly note?: string
}

/** The plan that waits for approval, attribute by attribute. */
export interface PlanMessage {
  readonly hash: string
  readonly madeAt: string
  readonly expiresAt: string
  readonly because: string
  readonly changes: readonly (PlannedChange & { readonly from?: string; readonly lines: readonly string[] })[]
  readonly without: number
  readonly outputs: readonly string[]
}

export interface Messages {
  hello: Hello
  fleet: { readonly rows: readonly FleetRow[] }
  rows: { readonly set: readonly FleetRow[]; readonly gone: readonly string[] }
  /** `gone`: there is no such cluster. */
  cluster: { readonly gone: boolean; readonly sections: Partial<ClusterSections> }
  log: LogMessage
  plan: { readonly plan: PlanMessage | null }
  /** Whether the API server answers. */
  upstream: { readonly answers: boolean; readonly message: string }
}
