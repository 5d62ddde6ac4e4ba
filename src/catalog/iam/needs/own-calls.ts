// What capt itself asks of AWS, beside Terraform.
import { actions, type Need } from './need.ts'

const SPOT = { StringEquals: { 'iam:AWSServiceName': ['spot.amazonaws.com'] } }

export const MANAGER_CALLS: readonly Need[] = [
  {
    of: 'the name of a cluster',
    actions: ['eks:DescribeCluster', ...actions('sqs', 'GetQueueUrl ListQueueTags')],
    reason: 'asks whether the name is taken by another cluster',
  },
  {
    of: 'deletion: the search',
    actions: [
      ...actions('ec2', 'DescribeInstances DescribeVolumes DescribeNetworkInterfaces DescribeSecurityGroups'),
      ...actions('elasticloadbalancing', 'DescribeLoadBalancers DescribeTargetGroups DescribeTags'),
      ...actions('iam', 'ListInstanceProfiles GetInstanceProfile'),
    ],
    reason: 'finds what controllers inside a deleted cluster left',
  },
  {
    of: 'deletion: the removal',
    actions: [
      ...actions('elasticloadbalancing', 'DeleteLoadBalancer DeleteTargetGroup'),
      ...actions(
        'ec2',
        'DeleteNetworkInterface DeleteSecurityGroup RevokeSecurityGroupIngress RevokeSecurityGroupEgress',
      ),
    ],
    reason: 'removes balancers and what belongs to them; not needed with teardown.deleteLoadBalancers: false',
  },
  {
    of: 'deletion: machines',
    actions: ['ec2:TerminateInstances'],
    condition: { StringLike: { 'aws:ResourceTag/karpenter.sh/nodepool': ['*'] } },
    reason: 'ends machines that a dead Karpenter left, only with teardown.terminateInstances: true',
  },
  {
    of: 'spot capacity',
    actions: ['iam:GetRole'],
    reason: 'asks whether the account has the service-linked role of EC2 Spot',
  },
  {
    of: 'spot capacity',
    actions: ['iam:CreateServiceLinkedRole'],
    condition: SPOT,
    reason: 'makes that role for the first pool of spot machines',
  },
  { of: 'capt doctor', actions: ['tag:GetResources'], reason: 'finds what carries the tags of a workspace' },
  {
    of: 'capt doctor: the age of access keys',
    actions: ['iam:ListAccessKeys'],
    reason: 'asks when a key in a Secret was made; without it the last change of the Secret counts',
  },
  {
    of: 'capt doctor: preflight',
    actions: [
      ...actions('ec2', 'DescribeVpcs DescribeAddresses DescribeAccountAttributes'),
      'iam:SimulatePrincipalPolicy',
    ],
    reason: 'compares address ranges and quotas, and asks which of these actions are denied',
  },
]

/** `capt karpenter` on a cluster that capt did not make. */
export const KARPENTER_CALLS: readonly Need[] = [
  {
    of: 'capt karpenter: the survey',
    actions: [
      ...actions(
        'eks',
        `ListClusters DescribeCluster ListNodegroups DescribeNodegroup ListAddons ListAccessEntries
         ListPodIdentityAssociations DescribePodIdentityAssociation`,
      ),
      ...actions(
        'ec2',
        `DescribeSubnets DescribeSecurityGroups DescribeAvailabilityZones DescribeLaunchTemplateVersions
         DescribeInstances`,
      ),
      ...actions(
        'iam',
        `GetRole ListAttachedRolePolicies ListRolePolicies GetRolePolicy GetInstanceProfile ListOpenIDConnectProviders`,
      ),
      ...actions('sqs', 'GetQueueUrl GetQueueAttributes ListQueueTags'),
      ...actions('events', 'DescribeRule ListTagsForResource ListTargetsByRule'),
    ],
    reason: 'reads the cluster, and what of Karpenter is there already',
  },
  {
    of: 'capt karpenter: the image',
    actions: ['ssm:GetParameter'],
    resources: ['arn:*:ssm:*::parameter/aws/service/*'],
    reason: 'reads which image EKS recommends',
  },
  {
    of: 'capt karpenter: roles',
    actions: actions(
      'iam',
      `CreateRole DeleteRole TagRole UpdateAssumeRolePolicy PutRolePolicy DeleteRolePolicy AttachRolePolicy
       DetachRolePolicy`,
    ),
    resources: ['arn:*:iam::*:role/Karpenter*'],
    reason: 'makes and removes the roles of controller and nodes',
  },
  {
    of: 'capt karpenter: the instance profile',
    actions: actions(
      'iam',
      `CreateInstanceProfile DeleteInstanceProfile TagInstanceProfile AddRoleToInstanceProfile
       RemoveRoleFromInstanceProfile`,
    ),
    resources: ['arn:*:iam::*:instance-profile/Karpenter*'],
    reason: 'makes and removes the profile of the nodes',
  },
  {
    of: 'capt karpenter: roles',
    actions: ['iam:PassRole'],
    resources: ['arn:*:iam::*:role/Karpenter*'],
    condition: {
      StringEquals: {
        'iam:PassedToService': ['ec2.amazonaws.com', 'ec2.amazonaws.com.cn', 'pods.eks.amazonaws.com'],
      },
    },
    reason: 'hands EC2 and EKS the roles that were made',
  },
  {
    of: 'capt karpenter: spot capacity',
    actions: ['iam:CreateServiceLinkedRole'],
    condition: SPOT,
    reason: 'makes the role of EC2 Spot where the account has none',
  },
  {
    of: 'capt karpenter: interruptions',
    actions: [...actions('sqs', 'CreateQueue DeleteQueue SetQueueAttributes TagQueue')],
    resources: ['arn:*:sqs:*:*:Karpenter-*'],
    reason: 'makes and removes the queue',
  },
  {
    of: 'capt karpenter: interruptions',
    actions: actions('events', 'PutRule DeleteRule PutTargets RemoveTargets TagResource'),
    resources: ['arn:*:events:*:*:rule/Karpenter*'],
    reason: 'makes and removes the rules',
  },
  {
    of: 'capt karpenter: the cluster',
    actions: [
      ...actions(
        'eks',
        `CreateAccessEntry DeleteAccessEntry CreatePodIdentityAssociation DeletePodIdentityAssociation
         UpdateNodegroupConfig TagResource`,
      ),
      ...actions('ec2', 'CreateTags DeleteTags'),
    ],
    reason: 'lets nodes join, tags what they are found by, and hands node groups over',
  },
]
