// Input and result of rendering one stage, and what the stage types share in doing so. Pure.
import type { AddonDelivery, AddonStage } from '#api'
import { hashOf, type Json, type JsonObject, ownValue } from '#lib'
import type { Variables } from '../../manifests/variables.ts'
import type { Part } from '../../resource-set/render-part.ts'
import type { RegistryAccess } from '../registry-access.ts'

export type Rendered =
  | {
      readonly is: 'ready'
      readonly version: string | undefined
      readonly parts: readonly Part[]
      readonly hash: string
    }
  | { readonly is: 'missing'; readonly variables: readonly string[]; readonly sources: readonly string[] }
  | { readonly is: 'refused'; readonly code: string; readonly message: string; readonly hint: string }

export interface SourceText {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
  /** Undefined when the object does not exist. */
  readonly values: Readonly<Record<string, string>> | undefined
}

export interface StageInput {
  readonly stage: AddonStage
  readonly cluster: string
  readonly variables: Variables
  /** Variables that came out of Secrets: what uses them travels in a Secret. */
  readonly secretVariables: ReadonlySet<string>
  readonly override: AddonDelivery['spec']['overrides'][number] | undefined
  readonly versions: { readonly flux: string; readonly karpenter: string }
  readonly definitions: readonly JsonObject[]
  /** A Flux with a foreign owner is used: nothing is rendered, only checked. */
  readonly isFluxAdopted: boolean
  /** Namespace of the Flux controllers. */
  readonly fluxNamespace?: string | undefined
  /** What Flux must be able to fetch when the pipeline names nothing: the chart that comes next. */
  readonly probe: ChartProbe | undefined
  /** Text of flux.manifest, fetched and checked. */
  readonly installFile: string | undefined
  readonly sources: readonly SourceText[]
  /** Nodes that Karpenter did not make; undefined when not known. */
  readonly nodes: number | undefined
  readonly liveReplicas: number | undefined
  /** How the registry of the chart is reached; undefined when nothing is said about it. */
  readonly access?: RegistryAccess | undefined
  /** EKS Auto Mode makes the nodes. */
  readonly isAutoMode?: boolean | undefined
}

export interface ChartProbe {
  readonly url: string
  readonly tag: string
  readonly access?: RegistryAccess | undefined
}

export function textOf(variables: Variables, name: string): string | undefined {
  const value = ownValue(variables, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function textsOf(value: Json | undefined): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined
}

export function ready(version: string | undefined, parts: readonly Part[]): Extract<Rendered, { is: 'ready' }> {
  const hash = hashOf(parts.map((one) => [one.set, one.payloads.map((payload) => [payload.name, payload.hash])]))
  return { is: 'ready', version, parts, hash: `sha256:${hash}` }
}
