// What the controller may ask beside making nodes: instance profiles, the cluster, the queue, and what there is to choose from.

import { isAtLeast } from '../version.ts'
import { allow, type PolicyScope, type Statement } from './policy-statements.ts'

const NODECLASS = 'karpenter.k8s.aws/ec2nodeclass'
const REGION = 'topology.kubernetes.io/region'
const EKS_NAME = 'eks:eks-cluster-name'

export function iamIntegration(version: string, scope: PolicyScope): Statement[] {
  const pass = allow('AllowPassingInstanceRole', 'iam:PassRole', scope.nodeRoleArn, {
    StringEquals: { 'iam:PassedToService': ['ec2.amazonaws.com', 'ec2.amazonaws.com.cn'] },
  })
  const Resource = instanceProfiles(version, scope)
  const cluster = `kubernetes.io/cluster/${scope.clusterName}`
  const asked = {
    [`aws:RequestTag/${cluster}`]: 'owned',
    ...(isAtLeast(version, '1.1.0') ? { [`aws:RequestTag/${EKS_NAME}`]: scope.clusterName } : {}),
    [`aws:RequestTag/${REGION}`]: scope.region,
  }
  const owned = { [`aws:ResourceTag/${cluster}`]: 'owned', [`aws:ResourceTag/${REGION}`]: scope.region }
  const ownedClass = { [`aws:ResourceTag/${NODECLASS}`]: '*' }
  const askedClass = { [`aws:RequestTag/${NODECLASS}`]: '*' }
  return [
    pass,
    allow('AllowScopedInstanceProfileCreationActions', 'iam:CreateInstanceProfile', Resource, {
      StringEquals: asked,
      StringLike: askedClass,
    }),
    allow('AllowScopedInstanceProfileTagActions', 'iam:TagInstanceProfile', Resource, {
      StringEquals: { ...owned, ...asked },
      StringLike: { ...ownedClass, ...askedClass },
    }),
    allow(
      'AllowScopedInstanceProfileActions',
      ['iam:AddRoleToInstanceProfile', 'iam:RemoveRoleFromInstanceProfile', 'iam:DeleteInstanceProfile'],
      Resource,
      { StringEquals: owned, StringLike: ownedClass },
    ),
  ]
}

/** Scoped to this account's profiles from 1.0 on; earlier versions ask without an ARN. */
function instanceProfiles(version: string, { partition, accountId }: PolicyScope): string {
  return isAtLeast(version, '1.0.0') ? `arn:${partition}:iam::${accountId}:instance-profile/*` : '*'
}

export function eksIntegration({ partition, region, accountId, clusterName }: PolicyScope): Statement[] {
  const Resource = `arn:${partition}:eks:${region}:${accountId}:cluster/${clusterName}`
  return [allow('AllowAPIServerEndpointDiscovery', 'eks:DescribeCluster', Resource)]
}

export function interruption({ queueArn }: PolicyScope): Statement[] {
  if (!queueArn) return []
  const Action = ['sqs:DeleteMessage', 'sqs:GetQueueUrl', 'sqs:ReceiveMessage']
  return [allow('AllowInterruptionQueueActions', Action, queueArn)]
}

export function zonalShift(
  version: string,
  { zonalShift: wanted, partition, region, accountId, clusterName }: PolicyScope,
): Statement[] {
  if (!wanted || !isAtLeast(version, '1.12.0')) return []
  const cluster = `arn:${partition}:eks:${region}:${accountId}:cluster/${clusterName}`
  return [
    allow('AllowZonalShiftStatusReadOnly', 'arc-zonal-shift:GetManagedResource', '*', {
      StringEquals: { 'arc-zonal-shift:ResourceIdentifier': cluster },
    }),
  ]
}

export function resourceDiscovery(version: string, scope: PolicyScope): Statement[] {
  const since = (floor: string) => isAtLeast(version, floor)
  const described = [
    ...(since('1.2.0') ? [] : ['AvailabilityZones']),
    ...(since('1.3.0') ? ['CapacityReservations'] : []),
    'Images',
    'Instances',
    ...(since('1.12.0') ? ['InstanceStatus'] : []),
    'InstanceTypeOfferings',
    'InstanceTypes',
    'LaunchTemplates',
    ...(since('1.11.0') ? ['PlacementGroups'] : []),
    'SecurityGroups',
    'SpotPriceHistory',
    'Subnets',
  ]
  const list = allow('AllowUnscopedInstanceProfileListAction', 'iam:ListInstanceProfiles', '*')
  return [
    allow(
      'AllowRegionalReadActions',
      described.map((what) => `ec2:Describe${what}`),
      '*',
      { StringEquals: { 'aws:RequestedRegion': scope.region } },
    ),
    allow(
      'AllowSSMReadActions',
      'ssm:GetParameter',
      `arn:${scope.partition}:ssm:${scope.region}::parameter/aws/service/*`,
    ),
    allow('AllowPricingReadActions', 'pricing:GetProducts', '*'),
    allow('AllowInstanceProfileReadActions', 'iam:GetInstanceProfile', instanceProfiles(version, scope)),
    ...(since('1.7.0') ? [list] : []),
  ]
}
