// What Terraform needs for roles, policies and machines: IAM, launch templates, instances, images.
import { actions, type Need } from './need.ts'

const iam = (of: string, words: string, reason: string): Need => ({ of, actions: actions('iam', words), reason })
const ec2 = (of: string, words: string, reason: string): Need => ({ of, actions: actions('ec2', words), reason })

/** What the templates attach to the roles they make; no other policy can be attached. */
const ATTACHED = [
  ...[
    'AmazonEKSClusterPolicy',
    'AmazonEKSWorkerNodePolicy',
    'AmazonEKS_CNI_Policy',
    'AmazonEC2ContainerRegistryPullOnly',
    'AmazonEC2ContainerRegistryReadOnly',
    'AmazonSSMManagedInstanceCore',
    // EKS Auto Mode.
    'AmazonEKSComputePolicy',
    'AmazonEKSBlockStoragePolicy',
    'AmazonEKSLoadBalancingPolicy',
    'AmazonEKSNetworkingPolicy',
    'AmazonEKSWorkerNodeMinimalPolicy',
  ].map((name) => `arn:*:iam::aws:policy/${name}`),
  'arn:*:iam::*:policy/*-ClusterEncryption*',
  'arn:*:iam::*:policy/*-cluster-*',
]

const pass = (of: string, reason: string, ...services: readonly string[]): Need => ({
  of,
  actions: ['iam:PassRole'],
  condition: { StringEquals: { 'iam:PassedToService': services } },
  reason,
})
const linked = (of: string, reason: string, ...services: readonly string[]): Need => ({
  of,
  actions: ['iam:CreateServiceLinkedRole'],
  condition: { StringEquals: { 'iam:AWSServiceName': services } },
  reason,
})
const EC2 = ['ec2.amazonaws.com', 'ec2.amazonaws.com.cn'] as const

export const IDENTITY_TYPES: readonly Need[] = [
  ...['aws_caller_identity', 'aws_partition', 'aws_region', 'aws_service_principal', 'aws_iam_policy_document'].map(
    (name): Need => ({ of: `data.${name}`, actions: [], reason: 'needs no permission' }),
  ),
  iam('data.aws_iam_session_context', 'GetRole', 'finds the role behind the session of the run'),
  iam('data.aws_iam_roles', 'ListRoles', 'asks whether the name of the node role is taken'),
  iam(
    'aws_iam_role',
    `CreateRole DeleteRole GetRole UpdateRole UpdateRoleDescription UpdateAssumeRolePolicy TagRole UntagRole
     ListRolePolicies ListAttachedRolePolicies ListInstanceProfilesForRole DeleteRolePolicy`,
    'makes and deletes the roles of control plane, nodes and Karpenter',
  ),
  {
    of: 'aws_iam_role_policy_attachment',
    actions: actions('iam', 'AttachRolePolicy DetachRolePolicy'),
    condition: { ArnLike: { 'iam:PolicyARN': ATTACHED } },
    reason: 'gives these roles the policies of AWS that they need, and no other',
  },
  iam('aws_iam_role_policy_attachment', 'ListAttachedRolePolicies', 'reads what is attached'),
  iam(
    'aws_iam_role_policy',
    'PutRolePolicy GetRolePolicy DeleteRolePolicy ListRolePolicies',
    "writes Karpenter's permissions into its role",
  ),
  iam(
    'aws_iam_policy',
    `CreatePolicy DeletePolicy GetPolicy GetPolicyVersion ListPolicyVersions CreatePolicyVersion DeletePolicyVersion
     TagPolicy UntagPolicy`,
    'lets the control plane use the key of the cluster',
  ),
  iam(
    'aws_iam_openid_connect_provider',
    `CreateOpenIDConnectProvider DeleteOpenIDConnectProvider GetOpenIDConnectProvider
     UpdateOpenIDConnectProviderThumbprint AddClientIDToOpenIDConnectProvider RemoveClientIDFromOpenIDConnectProvider
     TagOpenIDConnectProvider UntagOpenIDConnectProvider`,
    'lets service accounts of the cluster assume roles (IRSA)',
  ),
  iam(
    'aws_iam_instance_profile',
    `CreateInstanceProfile DeleteInstanceProfile GetInstanceProfile AddRoleToInstanceProfile
     RemoveRoleFromInstanceProfile TagInstanceProfile UntagInstanceProfile GetRole`,
    'gives an instance its role',
  ),
  pass('aws_eks_cluster', 'hands EKS the role of the control plane', 'eks.amazonaws.com'),
  linked(
    'aws_eks_cluster',
    'the first cluster of an account needs the service-linked role of EKS',
    'eks.amazonaws.com',
  ),
  pass('aws_eks_node_group', 'hands EKS the role of the nodes', 'eks.amazonaws.com', ...EC2),
  linked(
    'aws_eks_node_group',
    'the first node group of an account needs the service-linked role of node groups',
    'eks-nodegroup.amazonaws.com',
  ),
  pass('aws_eks_pod_identity_association', "hands EKS Karpenter's role", 'pods.eks.amazonaws.com'),
  iam('aws_eks_pod_identity_association', 'GetRole', 'EKS reads the trust of the role in the name of the caller'),
  pass('aws_iam_instance_profile', 'hands EC2 the role of the instance', ...EC2),
  ec2(
    'aws_launch_template',
    `CreateLaunchTemplate DeleteLaunchTemplate CreateLaunchTemplateVersion ModifyLaunchTemplate DescribeLaunchTemplates
     DescribeLaunchTemplateVersions CreateTags DeleteTags`,
    'says how the nodes of a group start',
  ),
  ec2('data.aws_ec2_instance_type', 'DescribeInstanceTypes', 'reads the architecture of an instance type'),
  ec2(
    'aws_instance',
    `RunInstances TerminateInstances DescribeInstances DescribeInstanceAttribute ModifyInstanceAttribute
     ModifyInstanceMetadataOptions DescribeInstanceTypes DescribeInstanceCreditSpecifications DescribeImages
     DescribeVolumes DescribeTags CreateTags DeleteTags`,
    'starts, changes and terminates a machine',
  ),
  {
    of: 'data.aws_ssm_parameter',
    actions: ['ssm:GetParameter'],
    resources: ['arn:*:ssm:*::parameter/aws/service/*'],
    reason: 'reads which image EKS recommends',
  },
]
