// Makes in moto what controllers of a cluster make in AWS, with the tags that they set: the cloud controller manager, the AWS
// Load Balancer Controller, the VPC CNI and Karpenter. Everything is named in the words of a report.
import { callsOf, textsOf } from './ledger.ts'
import type { Moto } from './moto.ts'

export type Tags = Readonly<Record<string, string>>

interface Place {
  readonly vpc: string
  readonly subnet: string
}

/** What controllers of one cluster made. */
interface Made {
  /** The teardown deletes it: balancers of both APIs, targets, an interface, security groups. */
  readonly network: readonly string[]
  /** Ids of the security groups, of `network` too. */
  readonly groups: readonly string[]
  readonly instance: string
  readonly volume: string
  /** Instance profiles of Karpenter. */
  readonly profiles: readonly string[]
}

export function makersOf(moto: Moto, region: string) {
  const { ec2, elb, classic, iam } = callsOf(moto, region)
  const first = (text: string, element: string) => textsOf(text, element)[0]!

  async function makeVpc(cidr: string): Promise<Place> {
    const vpc = first(await ec2('CreateVpc', { CidrBlock: `${cidr}.0.0/16` }), 'vpcId')
    const place = { VpcId: vpc, CidrBlock: `${cidr}.1.0/24`, AvailabilityZone: `${region}a` }
    return { vpc, subnet: first(await ec2('CreateSubnet', place), 'subnetId') }
  }

  async function makeGroup(vpc: string, name: string, tags: Tags): Promise<string> {
    const about = { GroupName: name, GroupDescription: name, VpcId: vpc }
    return first(await ec2('CreateSecurityGroup', { ...about, ...tagged('security-group', tags) }), 'groupId')
  }

  async function makeBalancer(name: string, subnet: string, tags: Tags): Promise<string> {
    const about = { Name: name, Type: 'network', 'Subnets.member.1': subnet }
    return `load balancer ${first(await elb('CreateLoadBalancer', { ...about, ...members(tags) }), 'LoadBalancerArn')}`
  }

  async function makeTargets(name: string, vpc: string, tags: Tags): Promise<string> {
    const about = { Name: name, Protocol: 'TCP', Port: '80', VpcId: vpc }
    return `target group ${first(await elb('CreateTargetGroup', { ...about, ...members(tags) }), 'TargetGroupArn')}`
  }

  async function makeClassic(name: string, subnet: string, group: string, tags: Tags): Promise<string> {
    const listener = { Protocol: 'tcp', LoadBalancerPort: '80', InstancePort: '80' }
    await classic('CreateLoadBalancer', {
      LoadBalancerName: name,
      'Subnets.member.1': subnet,
      'SecurityGroups.member.1': group,
      ...Object.fromEntries(Object.entries(listener).map(([key, value]) => [`Listeners.member.1.${key}`, value])),
      ...members(tags),
    })
    return `classic load balancer ${name}`
  }

  async function makeInterface(subnet: string, tags: Tags): Promise<string> {
    const made = await ec2('CreateNetworkInterface', { SubnetId: subnet, ...tagged('network-interface', tags) })
    return `network interface ${first(made, 'networkInterfaceId')}`
  }

  async function runInstance(subnet: string, tags: Tags): Promise<string> {
    const about = { ImageId: 'ami-12c6146b', InstanceType: 't3.micro', MinCount: '1', MaxCount: '1', SubnetId: subnet }
    return `instance ${first(await ec2('RunInstances', { ...about, ...tagged('instance', tags) }), 'instanceId')}`
  }

  async function makeVolume(tags: Tags): Promise<string> {
    const about = { Size: '1', AvailabilityZone: `${region}a` }
    return `volume ${first(await ec2('CreateVolume', { ...about, ...tagged('volume', tags) }), 'volumeId')}`
  }

  async function makeProfile(name: string, path: string, tags: Tags): Promise<string> {
    await iam('CreateInstanceProfile', { InstanceProfileName: name, Path: path, ...members(tags) })
    return `instance profile ${name}`
  }

  /** One of each for the cluster; `short` is part of names that AWS limits to 32 characters. */
  async function furnish(cluster: string, { vpc, subnet }: Place, short = cluster): Promise<Made> {
    const owned = { [`kubernetes.io/cluster/${cluster}`]: 'owned' }
    const byController = { 'elbv2.k8s.aws/cluster': cluster }
    const here = { ...owned, 'topology.kubernetes.io/region': region }
    const backend = await makeGroup(vpc, `k8s-traffic-${short}`, byController)
    const front = await makeGroup(vpc, `k8s-elb-${short}`, owned)
    return {
      groups: [backend, front],
      network: [
        await makeBalancer(`k8s-${short}`, subnet, byController),
        await makeBalancer(`a-${short}`, subnet, owned),
        await makeTargets(`k8s-${short}`, vpc, byController),
        await makeClassic(`c-${short}`, subnet, front, owned),
        await makeInterface(subnet, { 'cluster.k8s.amazonaws.com/name': cluster }),
        ...[backend, front].map((id) => `security group ${id}`),
      ],
      instance: await runInstance(subnet, { ...owned, 'karpenter.sh/nodepool': 'default' }),
      volume: await makeVolume({ ...owned, 'ebs.csi.aws.com/cluster': 'true' }),
      profiles: [
        await makeProfile(`${cluster}_17`, '/', here),
        await makeProfile(`${cluster}_18`, `/karpenter/${region}/${cluster}/uid/`, here),
      ],
    }
  }

  return { makeVpc, makeGroup, makeBalancer, makeTargets, makeInterface, makeProfile, runInstance, furnish }
}

export const tagged = (resource: string, tags: Tags): Record<string, string> => {
  const entries = Object.entries(tags).flatMap(([key, value], i) => [
    [`TagSpecification.1.Tag.${i + 1}.Key`, key],
    [`TagSpecification.1.Tag.${i + 1}.Value`, value],
  ])
  return entries.length === 0
    ? {}
    : { 'TagSpecification.1.ResourceType': resource, ...(Object.fromEntries(entries) as Tags) }
}

const members = (tags: Tags): Tags =>
  Object.fromEntries(
    Object.entries(tags).flatMap(([key, value], i) => [
      [`Tags.member.${i + 1}.Key`, key],
      [`Tags.member.${i + 1}.Value`, value],
    ]),
  )
