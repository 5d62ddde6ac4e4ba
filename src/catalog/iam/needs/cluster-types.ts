// What Terraform needs for the resource types of an EKS cluster and of Karpenter: EKS, KMS, CloudWatch, SQS, EventBridge.
import { actions, type Need } from './need.ts'

const eks = (of: string, words: string, reason: string): Need => ({ of, actions: actions('eks', words), reason })
const kms = (of: string, words: string, reason: string): Need => ({ of, actions: actions('kms', words), reason })
const TAGS = 'TagResource UntagResource'
/** The templates name queue and rules this way. */
const QUEUES = ['arn:*:sqs:*:*:Karpenter-*']
const RULES = ['arn:*:events:*:*:rule/Karpenter*']

export const CLUSTER_TYPES: readonly Need[] = [
  eks('data.aws_eks_clusters', 'ListClusters', 'asks whether the cluster exists before it is made'),
  eks('data.aws_eks_cluster', 'DescribeCluster', 'reads who made the cluster, and its node role, from its tags'),
  eks('data.aws_eks_addon_version', 'DescribeAddonVersions', 'chooses the version of each EKS add-on'),
  eks('data.aws_eks_cluster_versions', 'DescribeClusterVersions', 'reads the versions that EKS has'),
  eks('data.aws_eks_node_groups', 'ListNodegroups', 'asks whether the node group exists'),
  eks('data.aws_eks_node_group', 'DescribeNodegroup', 'reads the size, subnets and role of a node group'),
  eks(
    'aws_eks_cluster',
    `CreateCluster DeleteCluster DescribeCluster UpdateClusterConfig UpdateClusterVersion DescribeUpdate
     AssociateEncryptionConfig ${TAGS}`,
    'makes, upgrades and deletes the control plane',
  ),
  {
    of: 'aws_eks_cluster',
    actions: actions('ec2', 'DescribeSubnets DescribeVpcs DescribeSecurityGroups'),
    reason: 'EKS checks the network in the name of the caller',
  },
  {
    of: 'aws_eks_cluster',
    actions: actions('kms', 'DescribeKey CreateGrant'),
    reason: 'EKS encrypts Secrets with the key of the cluster',
  },
  eks(
    'aws_eks_addon',
    `CreateAddon DeleteAddon DescribeAddon UpdateAddon DescribeUpdate ${TAGS}`,
    'installs coredns, kube-proxy, vpc-cni, the Pod Identity agent and yours',
  ),
  eks(
    'aws_eks_access_entry',
    `CreateAccessEntry DeleteAccessEntry DescribeAccessEntry UpdateAccessEntry ${TAGS}`,
    'lets people, capt and nodes in',
  ),
  eks(
    'aws_eks_access_policy_association',
    'AssociateAccessPolicy DisassociateAccessPolicy ListAssociatedAccessPolicies',
    'says what those who are let in may do',
  ),
  eks(
    'aws_eks_pod_identity_association',
    `CreatePodIdentityAssociation DeletePodIdentityAssociation DescribePodIdentityAssociation
     UpdatePodIdentityAssociation ${TAGS}`,
    "gives Karpenter's service account its role",
  ),
  eks(
    'aws_eks_node_group',
    `CreateNodegroup DeleteNodegroup DescribeNodegroup UpdateNodegroupConfig UpdateNodegroupVersion DescribeUpdate ${TAGS}`,
    'makes, resizes, upgrades and deletes node groups',
  ),
  {
    of: 'aws_eks_node_group',
    actions: actions('ec2', 'RunInstances CreateTags DescribeSubnets DescribeLaunchTemplateVersions'),
    reason: 'EKS checks that the caller may use the launch template of the group',
  },
  kms(
    'aws_kms_key',
    `CreateKey DescribeKey GetKeyPolicy PutKeyPolicy GetKeyRotationStatus EnableKeyRotation DisableKeyRotation
     ListResourceTags ScheduleKeyDeletion UpdateKeyDescription ${TAGS}`,
    'makes the key that encrypts Secrets of the cluster; a deletion is scheduled, 30 days ahead',
  ),
  kms('aws_kms_alias', 'CreateAlias DeleteAlias UpdateAlias ListAliases', 'names the key'),
  {
    of: 'aws_cloudwatch_log_group',
    actions: actions(
      'logs',
      `CreateLogGroup DeleteLogGroup DescribeLogGroups PutRetentionPolicy DeleteRetentionPolicy ListTagsForResource ${TAGS}`,
    ),
    reason: 'keeps the logs of the control plane',
  },
  {
    of: 'aws_sqs_queue',
    actions: actions(
      'sqs',
      'CreateQueue DeleteQueue GetQueueAttributes GetQueueUrl SetQueueAttributes ListQueueTags TagQueue UntagQueue',
    ),
    resources: QUEUES,
    reason: 'makes the queue that Karpenter reads interruptions from',
  },
  {
    of: 'aws_sqs_queue_policy',
    actions: actions('sqs', 'GetQueueAttributes SetQueueAttributes'),
    resources: QUEUES,
    reason: 'lets EventBridge write to the queue',
  },
  {
    of: 'aws_cloudwatch_event_rule',
    actions: actions('events', `PutRule DeleteRule DescribeRule ListTagsForResource ${TAGS}`),
    resources: RULES,
    reason: 'catches spot interruptions, rebalance recommendations and changes of state',
  },
  {
    of: 'aws_cloudwatch_event_target',
    actions: actions('events', 'PutTargets RemoveTargets ListTargetsByRule'),
    resources: RULES,
    reason: 'sends what the rules catch to the queue',
  },
]
