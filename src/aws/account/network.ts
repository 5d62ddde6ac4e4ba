// Subnets, security groups and zones of a VPC, and tags on the first two.
import { nodesAt, textAt, type XmlNode } from '../xml.ts'
import { type AwsRequests, ec2List, tagsOf } from './requests.ts'

type Tags = Readonly<Record<string, string>>

export interface Subnet {
  readonly id: string
  readonly zone: string
  /** Instances get a public address. */
  readonly isPublic: boolean
  readonly freeAddresses: number
  readonly tags: Tags
}

export interface SecurityGroup {
  readonly id: string
  readonly name: string
  readonly tags: Tags
}

const inVpc = (vpcId: string) => ({ 'Filter.1.Name': 'vpc-id', 'Filter.1.Value.1': vpcId, MaxResults: '200' })
const tagSet = (item: XmlNode) => tagsOf(nodesAt(item, 'tagSet', 'item'), 'key', 'value')

export async function listSubnets(aws: AwsRequests, vpcId: string): Promise<readonly Subnet[]> {
  const found = await ec2List(aws, 'DescribeSubnets', inVpc(vpcId), 'subnetSet', 'item')
  return found.map((item) => ({
    id: textAt(item, 'subnetId') ?? '',
    zone: textAt(item, 'availabilityZone') ?? '',
    isPublic: textAt(item, 'mapPublicIpOnLaunch') === 'true',
    freeAddresses: Number(textAt(item, 'availableIpAddressCount') ?? 0),
    tags: tagSet(item),
  }))
}

export async function listSecurityGroups(aws: AwsRequests, vpcId: string): Promise<readonly SecurityGroup[]> {
  const found = await ec2List(aws, 'DescribeSecurityGroups', inVpc(vpcId), 'securityGroupInfo', 'item')
  return found.map((item) => ({
    id: textAt(item, 'groupId') ?? '',
    name: textAt(item, 'groupName') ?? '',
    tags: tagSet(item),
  }))
}

/** Zones of the region that this account has not opted in to. */
export async function listClosedZones(aws: AwsRequests): Promise<readonly string[]> {
  const asked = { AllAvailabilityZones: 'true' }
  const found = await ec2List(aws, 'DescribeAvailabilityZones', asked, 'availabilityZoneInfo', 'item')
  return found
    .filter((zone) => textAt(zone, 'optInStatus') === 'not-opted-in')
    .map((zone) => textAt(zone, 'zoneName') ?? '')
}

/** Security groups that one version of a launch template gives its instances; empty when it names none. */
export async function launchTemplateGroups(
  aws: AwsRequests,
  { id, version }: { readonly id: string; readonly version: string },
): Promise<readonly string[]> {
  const asked = { LaunchTemplateId: id, 'LaunchTemplateVersion.1': version }
  const [found] = await ec2List(
    aws,
    'DescribeLaunchTemplateVersions',
    asked,
    'launchTemplateVersionSet',
    'item',
    'launchTemplateData',
  )
  if (!found) return []
  const ofInterfaces = nodesAt(found, 'networkInterfaceSet', 'item', 'groupSet', 'groupId')
  const groups = ofInterfaces.length > 0 ? ofInterfaces : nodesAt(found, 'securityGroupIdSet', 'item')
  return groups.map((group) => group.text.trim())
}

export async function addTag(aws: AwsRequests, id: string, key: string, value: string): Promise<void> {
  await aws.query('ec2', 'CreateTags', { 'ResourceId.1': id, 'Tag.1.Key': key, 'Tag.1.Value': value })
}

/** Removes the tag only while it has this value. */
export async function removeTag(aws: AwsRequests, id: string, key: string, value: string): Promise<void> {
  await aws.query('ec2', 'DeleteTags', { 'ResourceId.1': id, 'Tag.1.Key': key, 'Tag.1.Value': value })
}

/** Machines that Karpenter made for a cluster and that still cost money. */
export async function listKarpenterMachines(aws: AwsRequests, cluster: string): Promise<readonly string[]> {
  const asked = {
    'Filter.1.Name': `tag:kubernetes.io/cluster/${cluster}`,
    'Filter.1.Value.1': 'owned',
    'Filter.2.Name': 'tag-key',
    'Filter.2.Value.1': 'karpenter.sh/nodepool',
    'Filter.3.Name': 'instance-state-name',
    'Filter.3.Value.1': 'pending',
    'Filter.3.Value.2': 'running',
    'Filter.3.Value.3': 'stopping',
    'Filter.3.Value.4': 'stopped',
    MaxResults: '200',
  }
  const found = await ec2List(aws, 'DescribeInstances', asked, 'reservationSet', 'item', 'instancesSet', 'item')
  return found.map((item) => textAt(item, 'instanceId') ?? '').sort()
}
