// One EKS cluster as it is: configuration, node groups, add-ons, access entries and Pod Identity associations; and the
// calls that let the nodes of Karpenter join and give its controller a role.
import type { JsonObject } from '#lib'
import { type AwsRequests, eksList, unlessMissing } from './requests.ts'

export interface EksCluster {
  readonly name: string
  readonly arn: string
  readonly status: string
  readonly version: string
  readonly endpoint: string
  readonly caData: string
  readonly issuer: string | undefined
  readonly vpcId: string
  readonly subnetIds: readonly string[]
  readonly clusterSecurityGroupId: string | undefined
  readonly authenticationMode: string
  readonly isAutoMode: boolean
  /** Whether the API can be reached from outside of its VPC. */
  readonly isPublic: boolean
}

export interface NodeGroupSize {
  readonly min: number
  readonly max: number
  readonly desired: number
}

export interface EksNodeGroup {
  readonly name: string
  readonly status: string
  readonly subnetIds: readonly string[]
  readonly taints: readonly { readonly key: string; readonly value?: string; readonly effect: string }[]
  readonly amiType: string
  readonly size: NodeGroupSize
  readonly launchTemplate: { readonly id: string; readonly version: string } | undefined
}

export interface PodIdentityAssociation {
  readonly id: string
  readonly namespace: string
  readonly serviceAccount: string
  readonly roleArn: string
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
const map = (value: unknown): JsonObject => (value ?? {}) as JsonObject

export async function readEksCluster(aws: AwsRequests, name: string): Promise<EksCluster | undefined> {
  const answer = await unlessMissing(aws.eks('DescribeCluster', 'GET', ['clusters', name]))
  if (!answer) return undefined
  const cluster = map(answer['cluster'])
  const network = map(cluster['resourcesVpcConfig'])
  return {
    name: text(cluster['name']),
    arn: text(cluster['arn']),
    status: text(cluster['status']),
    version: text(cluster['version']),
    endpoint: text(cluster['endpoint']),
    caData: text(map(cluster['certificateAuthority'])['data']),
    issuer: text(map(map(cluster['identity'])['oidc'])['issuer']) || undefined,
    vpcId: text(network['vpcId']),
    subnetIds: texts(network['subnetIds']),
    clusterSecurityGroupId: text(network['clusterSecurityGroupId']) || undefined,
    // Clusters of the time before access entries have none.
    authenticationMode: text(map(cluster['accessConfig'])['authenticationMode']) || 'CONFIG_MAP',
    isAutoMode: map(cluster['computeConfig'])['enabled'] === true,
    isPublic: network['endpointPublicAccess'] !== false,
  }
}

export async function listEksClusters(aws: AwsRequests): Promise<readonly string[]> {
  return (await eksList(aws, 'ListClusters', ['clusters'], 'clusters')).map(String)
}

export async function listNodeGroups(aws: AwsRequests, cluster: string): Promise<readonly EksNodeGroup[]> {
  const path = ['clusters', cluster, 'node-groups']
  const names = (await eksList(aws, 'ListNodegroups', path, 'nodegroups')).map(String).sort()
  const found: EksNodeGroup[] = []
  for (const name of names) {
    const answer = await unlessMissing(aws.eks('DescribeNodegroup', 'GET', [...path, name]))
    if (answer) found.push(toNodeGroup(map(answer['nodegroup'])))
  }
  return found
}

const EFFECTS: Readonly<Record<string, string>> = {
  NO_SCHEDULE: 'NoSchedule',
  NO_EXECUTE: 'NoExecute',
  PREFER_NO_SCHEDULE: 'PreferNoSchedule',
}

function toNodeGroup(group: JsonObject): EksNodeGroup {
  const template = map(group['launchTemplate'])
  const taints = (group['taints'] ?? []) as readonly JsonObject[]
  return {
    name: text(group['nodegroupName']),
    status: text(group['status']),
    subnetIds: texts(group['subnets']),
    taints: taints.map(({ key, value, effect }) => ({
      key: text(key),
      ...(text(value) === '' ? {} : { value: text(value) }),
      effect: EFFECTS[text(effect)] ?? text(effect),
    })),
    amiType: text(group['amiType']),
    size: toSize(map(group['scalingConfig'])),
    launchTemplate: template['id'] ? { id: text(template['id']), version: text(template['version']) } : undefined,
  }
}

const toSize = ({ minSize, maxSize, desiredSize }: JsonObject): NodeGroupSize => ({
  min: Number(minSize ?? 0),
  max: Number(maxSize ?? 0),
  desired: Number(desiredSize ?? 0),
})

export async function resizeNodeGroup(
  aws: AwsRequests,
  cluster: string,
  name: string,
  { min, max, desired }: NodeGroupSize,
): Promise<void> {
  const body = { scalingConfig: { minSize: min, maxSize: max, desiredSize: desired } }
  const path = ['clusters', cluster, 'node-groups', name, 'update-config']
  await unlessMissing(aws.eks('UpdateNodegroupConfig', 'POST', path, { body }))
}

export async function listAddons(aws: AwsRequests, cluster: string): Promise<readonly string[]> {
  return (await eksList(aws, 'ListAddons', ['clusters', cluster, 'addons'], 'addons')).map(String)
}

export async function listAccessEntries(aws: AwsRequests, cluster: string): Promise<readonly string[]> {
  return (await eksList(aws, 'ListAccessEntries', ['clusters', cluster, 'access-entries'], 'accessEntries')).map(String)
}

export async function createAccessEntry(
  aws: AwsRequests,
  cluster: string,
  principalArn: string,
  tags: Readonly<Record<string, string>>,
): Promise<void> {
  const body = { principalArn, type: 'EC2_LINUX', tags }
  await aws.eks('CreateAccessEntry', 'POST', ['clusters', cluster, 'access-entries'], { body })
}

export async function deleteAccessEntry(aws: AwsRequests, cluster: string, principalArn: string): Promise<void> {
  await unlessMissing(aws.eks('DeleteAccessEntry', 'DELETE', ['clusters', cluster, 'access-entries', principalArn]))
}

export async function listAssociations(aws: AwsRequests, cluster: string): Promise<readonly PodIdentityAssociation[]> {
  const path = ['clusters', cluster, 'pod-identity-associations']
  const listed = (await eksList(aws, 'ListPodIdentityAssociations', path, 'associations')) as readonly JsonObject[]
  const found: PodIdentityAssociation[] = []
  for (const one of listed) {
    // The list leaves the role out.
    const answer = await unlessMissing(
      aws.eks('DescribePodIdentityAssociation', 'GET', [...path, text(one['associationId'])]),
    )
    const association = map(answer?.['association'])
    found.push({
      id: text(one['associationId']),
      namespace: text(one['namespace']),
      serviceAccount: text(one['serviceAccount']),
      roleArn: text(association['roleArn']),
    })
  }
  return found
}

export async function createAssociation(
  aws: AwsRequests,
  cluster: string,
  body: {
    readonly namespace: string
    readonly serviceAccount: string
    readonly roleArn: string
    readonly tags: Readonly<Record<string, string>>
  },
): Promise<void> {
  await aws.eks('CreatePodIdentityAssociation', 'POST', ['clusters', cluster, 'pod-identity-associations'], { body })
}

export async function deleteAssociation(aws: AwsRequests, cluster: string, id: string): Promise<void> {
  const path = ['clusters', cluster, 'pod-identity-associations', id]
  await unlessMissing(aws.eks('DeletePodIdentityAssociation', 'DELETE', path))
}
