// One NodePool and its EC2NodeClass out of a small spec. The class has the finalizer of its controller, because
// core's Reconcile removes what a manifest lacks, and without it a deleted class leaves instance profiles behind.

import type { AddonStage } from '#api'
import { defaultNodeClass, defaultNodePool, mergeValues, type NodePoolObject, type Values } from '#catalog'
import type { Check } from '../../health/read.ts'
import type { Manifest } from '../../manifests/manifests.ts'
import { MANAGED_LABEL } from '../../names.ts'

const NODE_CLASS_FINALIZER = 'karpenter.k8s.aws/termination'

interface NodePoolInput {
  readonly spec: NonNullable<AddonStage['nodePool']>
  readonly clusterName: string
  readonly role: string | undefined
  /** Tag on subnets and security groups, when the control plane was made with another one. */
  readonly discoveryTag: string | undefined
  /** Subnets of the cluster, when its control plane reports them. */
  readonly subnetIds: readonly string[] | undefined
}

export function renderNodePool({
  spec,
  clusterName,
  role,
  discoveryTag,
  subnetIds,
}: NodePoolInput): readonly Manifest[] {
  const wanted = {
    name: spec.name,
    clusterName,
    discoveryTag,
    subnetIds,
    role: spec.role ?? role,
    amiAlias: spec.amiAlias,
    zones: spec.zones,
    capacityTypes: spec.capacityTypes,
    instanceCategories: spec.instanceCategories,
    architectures: spec.architectures,
    cpuLimit: spec.cpuLimit,
  }
  return [
    shaped(defaultNodeClass(wanted), (spec.nodeClass ?? {}) as Values, [NODE_CLASS_FINALIZER]),
    shaped(defaultNodePool(wanted), (spec.nodePool ?? {}) as Values, []),
  ]
}

function shaped(object: NodePoolObject, over: Values, finalizers: readonly string[]): Manifest {
  return {
    ...object,
    metadata: {
      name: object.metadata.name,
      labels: { ...object.metadata.labels, [MANAGED_LABEL]: 'true' },
      ...(finalizers.length > 0 ? { finalizers } : {}),
    },
    spec: mergeValues(object.spec, over),
  }
}

export function nodePoolChecks(spec: NonNullable<AddonStage['nodePool']>): readonly Check[] {
  const ready = {
    type: 'Condition',
    name: spec.name,
    path: 'status.conditions[type=Ready].status',
    equals: 'True',
  } as const
  return [
    { ...ready, apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass' },
    { ...ready, apiVersion: 'karpenter.sh/v1', kind: 'NodePool' },
  ]
}
