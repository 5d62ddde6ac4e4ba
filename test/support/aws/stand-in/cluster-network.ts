// The security group that EKS itself makes for a cluster, made in moto: nodes and control plane share it, and it goes with
// the cluster.
import type { Json } from './call.ts'

/** A call of the query protocol of EC2, with the credentials of the caller. */
export type Ec2 = (Action: string, parameters: Readonly<Record<string, string>>) => Promise<string>

/** `vpcId` and `clusterSecurityGroupId`; nothing where the subnets are unknown. */
export async function makeNetwork(ec2: Ec2, name: string, request: Json): Promise<Json> {
  const [subnet] = ((request['resourcesVpcConfig'] ?? {}) as { subnetIds?: readonly string[] }).subnetIds ?? []
  if (subnet === undefined) return {}
  const vpcId = /<vpcId>([^<]+)</.exec(await ec2('DescribeSubnets', { 'SubnetId.1': subnet }))?.[1]
  if (vpcId === undefined) return {}
  const made = await ec2('CreateSecurityGroup', {
    GroupName: `eks-cluster-sg-${name}-${process.hrtime.bigint()}`,
    GroupDescription: 'EKS created security group applied to ENI that is attached to EKS Control Plane master nodes',
    VpcId: vpcId,
    'TagSpecification.1.ResourceType': 'security-group',
    'TagSpecification.1.Tag.1.Key': 'aws:eks:cluster-name',
    'TagSpecification.1.Tag.1.Value': name,
    'TagSpecification.1.Tag.2.Key': `kubernetes.io/cluster/${name}`,
    'TagSpecification.1.Tag.2.Value': 'owned',
  })
  const clusterSecurityGroupId = /<groupId>([^<]+)</.exec(made)?.[1]
  return { vpcId, ...(clusterSecurityGroupId === undefined ? {} : { clusterSecurityGroupId }) }
}

export async function removeNetwork(ec2: Ec2, settings: Json): Promise<void> {
  const { clusterSecurityGroupId } = (settings['resourcesVpcConfig'] ?? {}) as { clusterSecurityGroupId?: string }
  if (clusterSecurityGroupId !== undefined) await ec2('DeleteSecurityGroup', { GroupId: clusterSecurityGroupId })
}
