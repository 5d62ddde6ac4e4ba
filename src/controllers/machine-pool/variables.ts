// The request for the run of a node group: every field of the spec that reaches Terraform, the replicas and the version of
// the MachinePool, and the cluster that the nodes join.
import type { CAPTMachinePool, MachinePoolFacts, WorkspaceTemplateApply } from '#api'
import { type Json, sha256 } from '#lib'
import type { ApplyRequest } from '../shared/apply.ts'
import type { Location } from '../shared/aws/location.ts'
import { credentials, roleValues, tagVariables, unlessEmpty } from '../shared/variables.ts'

/** The cluster that the nodes join. The apply that makes it outlives ours. */
export interface Place extends Location {
  /** Name of the Cluster object. */
  readonly cluster: string
  readonly vpcId: string
}

export const nodeGroupApplyName = (object: CAPTMachinePool): string => `${object.metadata.name}-node-group`

const LONGEST_NAME = 36

/** EKS takes 63 letters, digits, hyphens and underscores, and the template appends 27; names of objects have dots too. */
export function nodeGroupName(pool: string): string {
  const plain = pool.replaceAll('.', '-')
  if (plain.length <= LONGEST_NAME && plain === pool) return pool
  return `${plain.slice(0, LONGEST_NAME - 9)}-${sha256(pool).slice(0, 8)}`
}

interface Bounds {
  readonly min: number
  readonly max: number
}

/** Without bounds the group has exactly the replicas of its MachinePool. */
export function boundsOf({ spec }: CAPTMachinePool, replicas: number): Bounds {
  if (spec.scaling) return { min: spec.scaling.minSize, max: spec.scaling.maxSize }
  return { min: replicas, max: Math.max(replicas, 1) }
}

const EFFECTS = { NoSchedule: 'NO_SCHEDULE', PreferNoSchedule: 'PREFER_NO_SCHEDULE', NoExecute: 'NO_EXECUTE' } as const

/** `earlier`: the apply, when there was a request before. `version`: a minor version, as EKS writes it. */
export function nodeGroupRequest(
  object: CAPTMachinePool,
  pool: Pick<MachinePoolFacts, 'replicas' | 'isAutoscaled'>,
  place: Place,
  version: string,
  earlier?: WorkspaceTemplateApply,
): ApplyRequest {
  const { spec, metadata } = object
  const namespace = metadata.namespace ?? ''
  const desired = desiredSize(object, pool, earlier)
  const { min, max } = boundsOf(object, desired)
  const { maxUnavailable, maxUnavailablePercentage } = spec.updateConfig ?? {}
  const name = nodeGroupApplyName(object)
  return {
    name,
    namespace,
    cluster: place.cluster,
    owner: object,
    spec: {
      templateRef: { namespace, ...spec.workspaceTemplateRef },
      variables: {
        cluster_name: place.inAws,
        node_group_name: nodeGroupName(metadata.name),
        kubernetes_version: version,
        region: place.region,
        vpc_id: place.vpcId,
        ...(spec.amiType === undefined ? {} : { ami_type: spec.amiType }),
        ...(spec.capacityType === undefined ? {} : { capacity_type: spec.capacityType }),
        ...tagVariables(spec.additionalTags),
      },
      values: {
        min_size: min,
        max_size: max,
        desired_size: desired,
        autoscaled: pool.isAutoscaled,
        ...unlessEmpty('subnets', spec.subnets ?? place.privateSubnets),
        ...unlessEmpty('instance_types', spec.instanceTypes),
        ...(spec.diskSize === undefined ? {} : { disk_size: spec.diskSize }),
        ...unlessEmpty('labels', spec.labels),
        ...unlessEmpty('taints', spec.taints?.map(toTaint)),
        ...(maxUnavailable === undefined ? {} : { max_unavailable: maxUnavailable }),
        ...(maxUnavailablePercentage === undefined ? {} : { max_unavailable_percentage: maxUnavailablePercentage }),
        ...unlessEmpty('tags', spec.additionalTags),
        ...roleValues(place.identity),
      },
      writeConnectionSecretToRef: { name: `${name}-connection`, namespace },
      ...(place.eksApply === undefined ? {} : { waitForWorkspaces: [{ name: place.eksApply }] }),
      timeout: '120m',
      ...credentials(place.identity),
    },
  }
}

/** What an autoscaler decides later is no new request: the number that the group was made with stays in it. */
function desiredSize(
  object: CAPTMachinePool,
  { replicas, isAutoscaled }: Pick<MachinePoolFacts, 'replicas' | 'isAutoscaled'>,
  earlier: WorkspaceTemplateApply | undefined,
): number {
  if (!isAutoscaled) return replicas
  const { min, max } = boundsOf(object, replicas)
  const before = earlier?.spec.values?.['desired_size']
  return Math.min(Math.max(typeof before === 'number' ? before : replicas, min), max)
}

function toTaint({ key, value, effect }: NonNullable<CAPTMachinePool['spec']['taints']>[number]): Json {
  return { key, ...(value === undefined ? {} : { value }), effect: EFFECTS[effect] }
}
