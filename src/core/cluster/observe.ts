// Reads a Cluster, the two objects it refers to and its MachinePools, from caches alone.
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type ClusterFacts,
  type Kind,
  keyText,
  kubeconfigSecretName,
  machinePoolKind,
  readCluster,
  readMachinePool,
  SecretKind,
} from '#api'
import type { Cache, Projected } from '#kube'
import { fieldsOf } from '#lib'
import { findPart, type Part, statusFieldsOf } from '../referenced-objects.ts'

/** Kinds a Cluster may refer to here. */
export const PART_KINDS: readonly Kind[] = [CAPTCluster, CAPTControlPlane]

/** Index of MachinePools by `namespace/name` of their Cluster. */
export const POOLS_BY_CLUSTER = 'cluster'
export const clusterOfPool = (pool: AnyObject): readonly string[] => {
  const { namespace, clusterName } = readMachinePool(pool)
  return [keyText({ namespace, name: clusterName })]
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
  /** Version of the kubeconfig Secret that the probe was made with. */
  readonly kubeconfig: string | undefined
  readonly probe: Probe
}

export function observeCluster(
  cache: Cache,
  object: Projected<AnyObject>,
  probeOf: (id: string, kubeconfig: string) => Probe,
): Observed {
  const facts = readCluster(object)
  const { namespace, name } = facts
  const secret = cache.get(SecretKind, { namespace, name: kubeconfigSecretName(name) })
  const kubeconfig = secret?.metadata.resourceVersion
  return {
    object,
    facts,
    infrastructure: findPart(cache, PART_KINDS, namespace, facts.infrastructureRef),
    controlPlane: findPart(cache, PART_KINDS, namespace, facts.controlPlaneRef),
    workers: cache.list(machinePoolKind('v1beta2'), { index: POOLS_BY_CLUSTER, value: `${namespace}/${name}` }),
    kubeconfig,
    probe: kubeconfig === undefined ? { is: 'unknown' } : probeOf(`${namespace}/${name}`, kubeconfig),
  }
}

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
