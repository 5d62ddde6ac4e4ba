// One NodePool and its class out of a small spec. An EC2NodeClass has the finalizer of its controller, because
// core's Reconcile removes what a manifest lacks, and without it a deleted class leaves instance profiles behind.

import type { AddonStage } from '#api'
import {
  autoModeClassName,
  autoModeNodeClass,
  defaultNodeClass,
  defaultNodePool,
  mergeValues,
  type NodePoolObject,
  type Values,
} from '#catalog'
import { CaptError } from '#lib'
import type { Check } from '../../health/read.ts'
import type { Manifest } from '../../manifests/manifests.ts'
import { MANAGED_LABEL } from '../../names.ts'

const NODE_CLASS_FINALIZER = 'karpenter.k8s.aws/termination'

interface NodePoolInput {
  readonly spec: NonNullable<AddonStage['nodePool']>
  readonly clusterName: string
  readonly role: string | undefined
  /** Alias of the image; undefined where the class of the stage selects images itself. */
  readonly image: string | undefined
  /** Tag on subnets and security groups, when the control plane was made with another one. */
  readonly discoveryTag: string | undefined
  /** Subnets of the cluster, when its control plane reports them. */
  readonly subnetIds: readonly string[] | undefined
  /** Set where EKS Auto Mode makes the nodes. */
  readonly autoMode?: { readonly securityGroupIds: readonly string[] } | undefined
}

export function renderNodePool({
  spec,
  clusterName,
  role,
  image,
  discoveryTag,
  subnetIds,
  autoMode,
}: NodePoolInput): readonly Manifest[] {
  const wanted = {
    name: spec.name,
    clusterName,
    discoveryTag,
    subnetIds,
    role: spec.role ?? role,
    amiAlias: image,
    zones: spec.zones,
    capacityTypes: spec.capacityTypes,
    instanceCategories: spec.instanceCategories,
    architectures: spec.architectures,
    cpuLimit: spec.cpuLimit,
  }
  if (autoMode) {
    checkAutoMode(spec)
    const own = { ...wanted, isAutoMode: true, securityGroupIds: autoMode.securityGroupIds }
    // No finalizer: the controller of Auto Mode puts its own, and what is on a live object is carried along.
    return [
      shaped(autoModeNodeClass(own), (spec.nodeClass ?? {}) as Values, []),
      shaped(defaultNodePool(own), (spec.nodePool ?? {}) as Values, []),
    ]
  }
  return [
    shaped(defaultNodeClass(wanted), (spec.nodeClass ?? {}) as Values, [NODE_CLASS_FINALIZER]),
    shaped(defaultNodePool(wanted), (spec.nodePool ?? {}) as Values, []),
  ]
}

const BUILT_IN_POOLS = ['general-purpose', 'system']
/** Fields of an EC2NodeClass that the class of Auto Mode does not have. */
const EC2_FIELDS = [
  ...['amiFamily', 'amiSelectorTerms', 'associatePublicIPAddress', 'blockDeviceMappings', 'context'],
  ...['detailedMonitoring', 'instanceStorePolicy', 'kubelet', 'metadataOptions', 'userData'],
]

/** What EKS Auto Mode would refuse, or ignore without a word. */
function checkAutoMode({ name, nodeClass = {}, nodePool = {} }: NodePoolInput['spec']): void {
  const refuse = (message: string, hint: string) => {
    throw new CaptError('CAPT_NODE_POOL_AUTO_MODE', message, { hint })
  }
  if (BUILT_IN_POOLS.includes(name))
    refuse(`nodePool.name: ${name} is a pool that EKS Auto Mode has itself`, 'Give the pool another name')
  const fields = EC2_FIELDS.filter((field) => field in nodeClass)
  if (fields.length > 0)
    refuse(
      `nodePool.nodeClass: the NodeClass of EKS Auto Mode has no ${fields.join(', ')}`,
      'Leave it out; ephemeralStorage is for disks, and images are chosen by EKS',
    )
  const [label] = /karpenter\.k8s\.aws\/[\w-]+/.exec(JSON.stringify(nodePool)) ?? []
  if (label !== undefined)
    refuse(
      `nodePool.nodePool: no node of EKS Auto Mode has the label ${label}`,
      `Write ${label.replace('karpenter.k8s.aws', 'eks.amazonaws.com')}`,
    )
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

export function nodePoolChecks(spec: NonNullable<AddonStage['nodePool']>, isAutoMode = false): readonly Check[] {
  const ready = {
    type: 'Condition',
    name: spec.name,
    path: 'status.conditions[type=Ready].status',
    equals: 'True',
  } as const
  return [
    isAutoMode
      ? { ...ready, name: autoModeClassName(spec.name), apiVersion: 'eks.amazonaws.com/v1', kind: 'NodeClass' }
      : { ...ready, apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass' },
    { ...ready, apiVersion: 'karpenter.sh/v1', kind: 'NodePool' },
  ]
}
