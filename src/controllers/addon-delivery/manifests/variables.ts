// The values that ${NAME} stands for on one Cluster. Outputs of Terraform are data of any shape; they are offered under
// their own names and, flattened, in capitals: karpenter.queue_name is also KARPENTER_QUEUE_NAME.
import type { ClusterFacts } from '#api'
import { isPlainObject, type Json, setOwnValue } from '#lib'

export type Variables = Readonly<Record<string, Json>>

interface VariableInput {
  readonly cluster: Pick<ClusterFacts, 'name' | 'namespace' | 'endpoint'>
  readonly kubernetes: string | undefined
  /** Outputs of the control plane that are not sensitive. */
  readonly outputs: Readonly<Record<string, unknown>>
  /** Values of the named sources, in order. */
  readonly sources: readonly Variables[]
  readonly pipeline: Variables
  readonly delivery: Variables
}

/** Names that the shipped stages and the manifests of older projects ask for, and the outputs that may answer. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  KARPENTER_IAM_ROLE_ARN: [
    'KARPENTER_ROLE_ARN',
    'KARPENTER_CONTROLLER_ROLE_ARN',
    'KARPENTER_SERVICE_ACCOUNT_ANNOTATIONS_EKS_AMAZONAWS_COM_ROLE_ARN',
  ],
  INTERRUPTION_QUEUE_NAME: ['KARPENTER_QUEUE_NAME', 'KARPENTER_INTERRUPTION_QUEUE_NAME', 'QUEUE_NAME'],
  NODE_ROLE_NAME: ['KARPENTER_NODE_ROLE_NAME', 'KARPENTER_NODE_IAM_ROLE_NAME', 'KARPENTER_EC2_NODE_CLASS_ROLE'],
  NODE_IMAGE: ['KARPENTER_NODE_IMAGE'],
  AWS_REGION: ['REGION'],
}

/** Later wins: what capt knows, outputs, named sources, the pipeline, this delivery. */
export function collectVariables(input: VariableInput): Variables {
  const { cluster } = input
  const endpoint = cluster.endpoint ? `https://${cluster.endpoint.host}:${cluster.endpoint.port}` : undefined
  const known: Record<string, Json> = {
    CLUSTER_NAME: cluster.name,
    CLUSTER_NAMESPACE: cluster.namespace,
    ...(endpoint ? { CLUSTER_ENDPOINT: endpoint } : {}),
    ...(input.kubernetes ? { KUBERNETES_VERSION: input.kubernetes } : {}),
  }
  const merged = { ...known, ...flattenOutputs(input.outputs) }
  for (const source of input.sources) Object.assign(merged, source)
  for (const [name, candidates] of Object.entries(ALIASES)) {
    const found = candidates.find((candidate) => merged[candidate] !== undefined)
    if (merged[name] === undefined && found) merged[name] = merged[found]!
  }
  return { ...merged, ...input.pipeline, ...input.delivery }
}

export function flattenOutputs(outputs: Readonly<Record<string, unknown>>): Record<string, Json> {
  const flat: Record<string, Json> = {}
  const visit = (path: readonly string[], value: unknown) => {
    if (value === null || value === undefined) return
    const name = path
      .join('_')
      .replace(/[^A-Za-z0-9]+/g, '_')
      .toUpperCase()
    flat[name] ??= value as Json
    if (isPlainObject(value)) for (const [key, inner] of Object.entries(value)) visit([...path, key], inner)
  }
  for (const [key, value] of Object.entries(outputs)) {
    visit([key], value)
    if (value !== null && value !== undefined) setOwnValue(flat, key, value as Json)
  }
  return flat
}
