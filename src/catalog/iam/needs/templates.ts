// Which resource types and data sources the shipped templates use, themselves and by the modules that they pin. Tests hold
// the first to templates/*/main.tf; the second is what a module makes with the inputs that the templates give.

/** By `source version`. Nested modules are included. */
export const MODULE_TYPES: Readonly<Record<string, readonly string[]>> = {
  'terraform-aws-modules/vpc/aws 6.6.0': [
    ...['aws_vpc', 'aws_subnet', 'aws_internet_gateway', 'aws_eip', 'aws_nat_gateway', 'aws_route_table'],
    ...['aws_route_table_association', 'aws_route'],
    ...['aws_default_security_group', 'aws_default_network_acl', 'aws_default_route_table'],
  ],
  'terraform-aws-modules/eks/aws 21.19.0': [
    ...['aws_eks_cluster', 'aws_eks_addon', 'aws_eks_access_entry', 'aws_eks_access_policy_association'],
    ...['aws_eks_node_group', 'aws_launch_template', 'aws_ec2_tag', 'aws_security_group', 'aws_security_group_rule'],
    ...['aws_iam_role', 'aws_iam_role_policy_attachment', 'aws_iam_policy', 'aws_iam_openid_connect_provider'],
    ...['aws_kms_key', 'aws_kms_alias', 'aws_cloudwatch_log_group'],
    ...['data.aws_partition', 'data.aws_caller_identity', 'data.aws_iam_session_context'],
    ...['data.aws_iam_policy_document', 'data.aws_eks_addon_version', 'data.aws_eks_cluster_versions'],
    ...['data.aws_subnet', 'data.aws_ec2_instance_type'],
  ],
  'terraform-aws-modules/eks/aws//modules/karpenter 21.19.0': [
    ...['aws_iam_role', 'aws_iam_role_policy', 'aws_iam_role_policy_attachment', 'aws_eks_pod_identity_association'],
    ...['aws_eks_access_entry', 'aws_sqs_queue', 'aws_sqs_queue_policy', 'aws_cloudwatch_event_rule'],
    'aws_cloudwatch_event_target',
    ...['data.aws_region', 'data.aws_partition', 'data.aws_caller_identity', 'data.aws_service_principal'],
    'data.aws_iam_policy_document',
  ],
}

/** By folder below `templates`. */
export const TEMPLATE_TYPES: Readonly<Record<string, { types: readonly string[]; modules: readonly string[] }>> = {
  vpc: {
    types: ['data.aws_availability_zones'],
    modules: ['terraform-aws-modules/vpc/aws 6.6.0'],
  },
  'eks-controlplane': {
    types: [
      ...['data.aws_subnets', 'data.aws_caller_identity', 'data.aws_iam_session_context', 'data.aws_eks_clusters'],
      ...['data.aws_eks_cluster', 'data.aws_iam_roles', 'data.aws_eks_addon_version', 'data.aws_iam_policy_document'],
      ...['data.aws_partition', 'data.aws_ssm_parameter'],
    ],
    modules: ['terraform-aws-modules/eks/aws 21.19.0', 'terraform-aws-modules/eks/aws//modules/karpenter 21.19.0'],
  },
  'node-group': {
    types: [
      ...['data.aws_subnets', 'data.aws_security_groups', 'data.aws_eks_node_groups', 'data.aws_eks_node_group'],
      ...['data.aws_partition', 'aws_iam_role', 'aws_iam_role_policy_attachment', 'aws_launch_template'],
      'aws_eks_node_group',
    ],
    modules: [],
  },
  machine: {
    types: [
      ...['data.aws_partition', 'data.aws_eks_cluster', 'data.aws_eks_node_group', 'data.aws_ec2_instance_type'],
      ...['data.aws_subnet', 'data.aws_security_groups', 'data.aws_ssm_parameter', 'aws_iam_role'],
      ...['aws_iam_role_policy_attachment', 'aws_eks_access_entry', 'aws_iam_instance_profile', 'aws_instance'],
    ],
    modules: [],
  },
}
