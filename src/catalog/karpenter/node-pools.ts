// The node pool a cluster gets when nobody wrote one, as karpenter.sh/v1 objects. v1 has no requirement defaults of its own:
// what is left out may be arm64, windows or spot, so everything is written out.
import { CaptError } from '#lib'
import type { Taint } from '../placement/match.ts'

interface NodePoolSpec {
  /** Name of both the NodePool and its EC2NodeClass. */
  readonly name?: string | undefined
  readonly clusterName: string
  /** Exactly one of role (a name, not an ARN) and instanceProfile. */
  readonly role?: string | undefined
  readonly instanceProfile?: string | undefined
  /** Zones to use; those of the tagged subnets when left out. */
  readonly zones?: readonly string[] | undefined
  readonly capacityTypes?: readonly string[] | undefined
  readonly instanceCategories?: readonly string[] | undefined
  /** Instances newer than this generation. */
  readonly generationAbove?: number | undefined
  readonly architectures?: readonly string[] | undefined
  readonly cpuLimit?: string | number | undefined
  readonly consolidationPolicy?: 'WhenEmpty' | 'WhenEmptyOrUnderutilized' | undefined
  readonly consolidateAfter?: string | undefined
  readonly expireAfter?: string | undefined
  /** For example al2023@v20260801; `latest` rolls the fleet whenever AWS publishes an image, so nothing falls back to it. */
  readonly amiAlias?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly taints?: readonly Taint[] | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  /** Tag on subnets and security groups whose value is the cluster's name. */
  readonly discoveryTag?: string | undefined
  /** Subnets by id: those of an existing VPC carry no tag of ours, and two clusters may share them. */
  readonly subnetIds?: readonly string[] | undefined
  /** Security groups by id; found by the tag when left out. */
  readonly securityGroupIds?: readonly string[] | undefined
  /** Whether EKS Auto Mode makes the nodes: it has a class and labels of its own. */
  readonly isAutoMode?: boolean | undefined
}

export const DISCOVERY_TAG = 'karpenter.sh/discovery'
const DEFAULT_POOL = 'default'

export interface NodePoolObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec: Readonly<Record<string, unknown>>
}

const EC2_CLASS = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass' } as const
const AUTO_MODE_CLASS = { group: 'eks.amazonaws.com', kind: 'NodeClass' } as const
/** Nodes of Auto Mode live 21 days at most; this is its own default. */
const AUTO_MODE_EXPIRY = '336h'

export function defaultNodePool(spec: NodePoolSpec): NodePoolObject {
  const name = spec.name ?? DEFAULT_POOL
  const labels = spec.labels ?? {}
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        ...(Object.keys(labels).length > 0 ? { metadata: { labels } } : {}),
        spec: {
          nodeClassRef: spec.isAutoMode
            ? { ...AUTO_MODE_CLASS, name: autoModeClassName(name) }
            : { ...EC2_CLASS, name },
          requirements: requirements(spec),
          expireAfter: spec.expireAfter ?? (spec.isAutoMode ? AUTO_MODE_EXPIRY : 'Never'),
          ...(spec.taints && spec.taints.length > 0 ? { taints: spec.taints } : {}),
        },
      },
      disruption: {
        consolidationPolicy: spec.consolidationPolicy ?? 'WhenEmptyOrUnderutilized',
        consolidateAfter: spec.consolidateAfter ?? '1m',
      },
      limits: { cpu: String(spec.cpuLimit ?? 1000) },
    },
  }
}

function requirements(spec: NodePoolSpec) {
  const { group } = spec.isAutoMode ? AUTO_MODE_CLASS : EC2_CLASS
  const inList = (key: string, values: readonly string[]) => ({ key, operator: 'In', values })
  return [
    inList('karpenter.sh/capacity-type', spec.capacityTypes ?? ['on-demand']),
    inList(`${group}/instance-category`, spec.instanceCategories ?? ['c', 't', 'm']),
    { key: `${group}/instance-generation`, operator: 'Gt', values: [String(spec.generationAbove ?? 2)] },
    inList('kubernetes.io/os', ['linux']),
    inList('kubernetes.io/arch', spec.architectures ?? ['amd64']),
    ...(spec.zones && spec.zones.length > 0 ? [inList('topology.kubernetes.io/zone', spec.zones)] : []),
  ]
}

export function defaultNodeClass(spec: NodePoolSpec): NodePoolObject {
  if (Boolean(spec.role) === Boolean(spec.instanceProfile))
    throw new CaptError(
      'CAPT_NODE_CLASS_IDENTITY',
      `EC2NodeClass ${spec.name ?? DEFAULT_POOL}: exactly one of role and instanceProfile must be set`,
      {
        hint: 'role is the name of the node role; Karpenter makes the instance profile',
      },
    )
  const selected = [{ tags: { [spec.discoveryTag ?? DISCOVERY_TAG]: spec.clusterName } }]
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: spec.name ?? DEFAULT_POOL },
    spec: {
      ...(spec.amiAlias === undefined ? {} : { amiSelectorTerms: [{ alias: spec.amiAlias }] }),
      ...(spec.role ? { role: roleNameOf(spec.role) } : { instanceProfile: spec.instanceProfile }),
      subnetSelectorTerms: spec.subnetIds?.length ? spec.subnetIds.map((id) => ({ id })) : selected,
      securityGroupSelectorTerms: selected,
      ...(spec.tags && Object.keys(spec.tags).length > 0 ? { tags: spec.tags } : {}),
    },
  }
}

/** EKS has a NodeClass `default` of its own, which nobody may change. */
export const autoModeClassName = (pool: string): string => `capt-${pool}`

/** The class of EKS Auto Mode: images and disks are its own business, role and network are ours. */
export function autoModeNodeClass(spec: NodePoolSpec): NodePoolObject {
  const { name = DEFAULT_POOL, role, subnetIds = [], securityGroupIds = [], tags = {} } = spec
  const byId = (ids: readonly string[]) => ids.map((id) => ({ id }))
  return {
    apiVersion: `${AUTO_MODE_CLASS.group}/v1`,
    kind: AUTO_MODE_CLASS.kind,
    metadata: { name: autoModeClassName(name) },
    spec: {
      ...(role ? { role: roleNameOf(role) } : {}),
      subnetSelectorTerms: byId(subnetIds),
      securityGroupSelectorTerms: byId(securityGroupIds),
      ...(Object.keys(tags).length > 0 ? { tags } : {}),
    },
  }
}

/** EC2NodeClass wants the name; people and Terraform outputs often have the ARN. */
export function roleNameOf(role: string): string {
  return role.startsWith('arn:') ? role.slice(role.lastIndexOf('/') + 1) : role
}
