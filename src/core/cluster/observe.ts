// Reads a Cluster, the two objects it refers to and its MachinePools, from caches alone.
import {
  type AnyObject,
  type ClusterFacts,
  type ContractRef,
  type Kind,
  keyText,
  kubeconfigSecretName,
  machinePoolKind,
  readCluster,
  readMachinePool,
  SecretKind,
} from '#api'
import type { Cache, Projected } from '#kube'
import { isPlainObject } from '#lib'

/** Index of MachinePools by `namespace/name` of their Cluster. */
export const POOLS_BY_CLUSTER = 'cluster'
export const clusterOfPool = (pool: AnyObject): readonly string[] => {
  const { namespace, clusterName } = readMachinePool(pool)
  return [keyText({ namespace, name: clusterName })]
}

/** An object the Cluster refers to, read by the contract: both versions' fields are looked at. */
export interface Part {
  readonly ref: ContractRef
  /** Undefined when the embedded home does not serve it. */
  readonly kind: Kind | undefined
  readonly object: Projected<AnyObject> | undefined
}

/** `unprobed`: nobody here probes. */
export type Probe =
  | { readonly is: 'unknown' | 'unprobed' | 'succeeded' }
  | { readonly is: 'failed'; readonly message: string }

export interface Observed {
  readonly object: Projected<AnyObject>
  readonly facts: ClusterFacts
  readonly infrastructure: Part | undefined
  readonly controlPlane: Part | undefined
  /** MachinePools of the Cluster. They go before the control plane. */
  readonly workers: readonly Projected<AnyObject>[]
  /** Version of the kubeconfig Secret, for which the probe speaks. */
  readonly kubeconfig: string | undefined
  readonly probe: Probe
}

export function observeCluster(
  cache: Cache,
  kinds: readonly Kind[],
  object: Projected<AnyObject>,
  probeOf: (id: string, kubeconfig: string) => Probe,
): Observed {
  const facts = readCluster(object)
  const { namespace, name } = facts
  const part = (ref: ContractRef | undefined): Part | undefined => {
    if (!ref) return undefined
    const kind = kinds.find((one) => one.group === ref.group && one.kind === ref.kind)
    return { ref, kind, object: kind && cache.get(kind, { namespace, name: ref.name }) }
  }
  const secret = cache.get(SecretKind, { namespace, name: kubeconfigSecretName(name) })
  const kubeconfig = secret?.metadata.resourceVersion
  return {
    object,
    facts,
    infrastructure: part(facts.infrastructureRef),
    controlPlane: part(facts.controlPlaneRef),
    workers: cache.list(machinePoolKind('v1beta2'), { index: POOLS_BY_CLUSTER, value: `${namespace}/${name}` }),
    kubeconfig,
    probe: kubeconfig === undefined ? { is: 'unknown' } : probeOf(`${namespace}/${name}`, kubeconfig),
  }
}

type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {})
export const statusFieldsOf = (part: Part | undefined): Fields =>
  fieldsOf((part?.object as { status?: unknown } | undefined)?.status)
export const specFieldsOf = (part: Part | undefined): Fields =>
  fieldsOf((part?.object as { spec?: unknown } | undefined)?.spec)

export function isProvisioned({ facts, infrastructure }: Observed): boolean {
  const status = statusFieldsOf(infrastructure)
  const reported = fieldsOf(status['initialization'])['provisioned'] === true || status['ready'] === true
  return facts.infrastructureProvisioned || reported
}

export function isInitialized({ facts, controlPlane }: Observed): boolean {
  const status = statusFieldsOf(controlPlane)
  const reported =
    fieldsOf(status['initialization'])['controlPlaneInitialized'] === true || status['initialized'] === true
  return facts.controlPlaneInitialized || reported
}
