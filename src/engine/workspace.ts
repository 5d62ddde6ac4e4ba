// A workspace as data: what Terraform is given, resolved and hashed, without credentials.
import type { Json } from '#lib'
import type { ToolRequest } from './tool/find-terraform.ts'

export interface ObjectKey {
  readonly namespace: string
  readonly name: string
}

export interface SourceRef extends ObjectKey {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly key: string
}

export interface Variables {
  /** Given to Terraform when it declares a variable of that name. */
  readonly offered: Readonly<Record<string, string>>
  /** Of any type. */
  readonly given: Readonly<Record<string, Json>>
  /** Text that means what `terraform -var` would read it as. */
  readonly texts: Readonly<Record<string, string>>
  /** Of any type; they win over all others. */
  readonly exact: Readonly<Record<string, Json>>
}

export interface Workspace {
  readonly name: string
  readonly source:
    | { readonly kind: 'inline' }
    | { readonly kind: 'remote'; readonly address: string; readonly entrypoint: string }
  /** Files of the root module by name. */
  readonly files: Readonly<Record<string, string>>
  readonly variables: Variables
  readonly varFiles: readonly { readonly format: 'HCL' | 'JSON'; readonly content: string }[]
  readonly env: Readonly<Record<string, string>>
  /** Read when a run starts, never frozen. */
  readonly secretEnv: readonly { readonly name: string; readonly ref: SourceRef }[]
  /** Secrets with credentials; a later one wins. Read when a run starts, never frozen. */
  readonly credentials: readonly ObjectKey[]
  readonly args: {
    readonly init: readonly string[]
    readonly plan: readonly string[]
    readonly apply: readonly string[]
    readonly destroy: readonly string[]
  }
  /** The program that the template asks for. */
  readonly tool?: ToolRequest
  /** What its runs in Jobs ask of their nodes; not an input of Terraform. */
  readonly resources?: Resources
  readonly connectionSecret: ObjectKey | undefined
  /** Contents that came from Secrets: they are kept out of everything people read. */
  readonly secretValues: readonly string[]
  readonly logToManager: boolean
  readonly hash: string
}

/** What a run in a Job asks of its node, as Kubernetes writes it. */
export interface Resources {
  readonly requests?: Readonly<Record<string, string>>
  readonly limits?: Readonly<Record<string, string>>
}

/** Why a workspace cannot be rendered yet. */
export interface Problem {
  readonly reason: 'VariableUnresolved' | 'SourceMissing'
  readonly message: string
  readonly hint: string
}

export type Rendering =
  | { readonly ok: true; readonly workspace: Workspace }
  | { readonly ok: false; readonly problems: readonly Problem[] }
