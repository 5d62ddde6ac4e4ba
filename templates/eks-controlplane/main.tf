# An EKS cluster on which Flux and Karpenter can start: control plane, a small node group for the controllers, the EKS
# add-ons that nodes need to become Ready, Karpenter's IAM, queue and node role, and access for capt itself. With
# auto_mode EKS makes the nodes, and node group, add-ons and Karpenter's part are left out.

variable "bootstrap_instance_types" {
  type        = list(string)
  description = "Instance types of the node group on which the controllers run."
  default     = ["t3.large"]
}

variable "bootstrap_size" {
  type        = number
  description = "Nodes in that group; two, because Karpenter's replicas do not share a node. Another number makes another group before the first one goes. 0 when a pool with the label karpenter.sh/controller has taken its place: EKS add-ons need nodes to start."
  default     = 2
  validation {
    condition     = var.bootstrap_size >= 0
    error_message = "bootstrap_size must not be negative."
  }
}

data "aws_subnets" "private" {
  count = length(var.private_subnets) == 0 ? 1 : 0
  filter {
    name   = "vpc-id"
    values = [var.vpc_id]
  }
  filter {
    name   = "tag:kubernetes.io/role/internal-elb"
    values = ["1"]
  }
}

locals {
  subnets   = length(var.private_subnets) > 0 ? var.private_subnets : one(data.aws_subnets.private[*].ids)
  discovery = { "karpenter.sh/discovery" = var.cluster_name }
  owner     = var.cluster_owner == null ? {} : { "capt.appthrust.com/owner" = var.cluster_owner }

  has_bootstrap_group = !var.auto_mode && var.bootstrap_size > 0

  # EKS takes names of 100 characters, the services around it fewer. 37 leaves room for the hyphen of a prefix of 38.
  names = {
    for key, wanted in {
      cluster_role = { name = format("%s-cluster", var.cluster_name), limit = 37 }
      node_role    = { name = format(var.auto_mode ? "AutoModeNodeRole-%s" : "KarpenterNodeRole-%s", var.cluster_name), limit = 64 }
      queue        = { name = format("Karpenter-%s", var.cluster_name), limit = 80 }
    } : key => length(wanted.name) <= wanted.limit ? wanted.name : format("%s-%s", substr(wanted.name, 0, wanted.limit - 9), substr(sha256(wanted.name), 0, 8))
  }

  # Roles are global: where another cluster of the account has the name already, a hash of this one is appended. The name
  # that was chosen stays with the cluster, as a tag.
  node_role_tag = "capt.appthrust.com/node-role"
  is_taken      = length(try(data.aws_iam_roles.taken[0].names, [])) > 0
  own_hash      = substr(sha256(format("%s/%s/%s", data.aws_caller_identity.current.account_id, var.region, var.cluster_name)), 0, 8)
  free_role     = local.is_taken ? format("%s-%s", substr(local.names.node_role, 0, 55), local.own_hash) : local.names.node_role
  node_role     = try(data.aws_eks_cluster.made[0].tags[local.node_role_tag], local.free_role)

  # The creator of the cluster keeps its entry when another identity applies: its ARN is read back from a cluster tag.
  creator_tag = "capt.appthrust.com/creator"
  creator     = try(data.aws_eks_cluster.made[0].tags[local.creator_tag], data.aws_iam_session_context.caller.issuer_arn)
  policy_arn  = format("arn:%s:eks::aws:cluster-access-policy/%%s", data.aws_partition.current.partition)
  access_entries = merge(
    {
      cluster_creator = {
        principal_arn = local.creator
        type          = "STANDARD"
        policy_associations = {
          admin = { policy_arn = format(local.policy_arn, "AmazonEKSClusterAdminPolicy"), access_scope = { type = "cluster" } }
        }
      }
    },
    {
      for one in var.access : one.principal_arn => {
        principal_arn     = one.principal_arn
        type              = "STANDARD"
        kubernetes_groups = one.kubernetes_groups
        user_name         = one.username
        policy_associations = {
          for policy in one.policies : policy.name => {
            policy_arn   = format(local.policy_arn, policy.name)
            access_scope = length(policy.namespaces) > 0 ? { type = "namespace", namespaces = policy.namespaces } : { type = "cluster", namespaces = null }
          }
        }
      } if one.principal_arn != local.creator
    },
  )

  # Nodes of Auto Mode bring what these add-ons do.
  needed = { for name, settings in { coredns = {}, kube-proxy = {}, vpc-cni = { before_compute = true }, eks-pod-identity-agent = { before_compute = true } } : name => settings if !var.auto_mode }
  chosen = { for name in setunion(keys(local.needed), keys(var.addons)) : name => try(var.addons[name].version, null) }
  addons = {
    for name, version in local.chosen : name => merge(
      { resolve_conflicts_on_create = "OVERWRITE", most_recent = false },
      { addon_version = version == null ? terraform_data.addon_version[name].output : version },
      lookup(local.needed, name, {}),
      try(var.addons[name].configuration_values, null) == null ? {} : { configuration_values = var.addons[name].configuration_values },
    )
  }
}

data "aws_caller_identity" "current" {}

# The role behind a session, so that a new session is no new principal.
data "aws_iam_session_context" "caller" {
  arn = data.aws_caller_identity.current.arn
}

data "aws_eks_clusters" "all" {}

data "aws_eks_cluster" "made" {
  count = contains(data.aws_eks_clusters.all.names, var.cluster_name) ? 1 : 0
  name  = var.cluster_name
}

# Asked once, before there is a cluster.
data "aws_iam_roles" "taken" {
  count      = contains(data.aws_eks_clusters.all.names, var.cluster_name) ? 0 : 1
  name_regex = format("^%s$", local.names.node_role)
}

data "aws_eks_addon_version" "newest" {
  for_each           = toset([for name, version in local.chosen : name if version == null])
  addon_name         = each.key
  kubernetes_version = var.kubernetes_version
  most_recent        = true
}

# Chosen once for each Kubernetes version, then kept: newer ones that AWS publishes are no change of this cluster.
resource "terraform_data" "addon_version" {
  for_each         = data.aws_eks_addon_version.newest
  input            = each.value.version
  triggers_replace = [var.kubernetes_version]

  lifecycle {
    ignore_changes = [input]
  }
}

data "aws_ssm_parameter" "node_image" {
  count = var.auto_mode ? 0 : 1
  name  = format("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/x86_64/standard/recommended/release_version", var.kubernetes_version)
}

# The image of Karpenter's nodes, chosen like the add-ons: a newer one that AWS publishes replaces no node by itself.
resource "terraform_data" "node_image" {
  count            = var.auto_mode ? 0 : 1
  input            = format("al2023@v%s", regex("-([0-9]{8})$", data.aws_ssm_parameter.node_image[0].insecure_value)[0])
  triggers_replace = [var.kubernetes_version]

  lifecycle {
    ignore_changes = [input]
  }
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "21.19.0"

  name               = var.cluster_name
  kubernetes_version = var.kubernetes_version
  vpc_id             = var.vpc_id
  subnet_ids         = local.subnets

  endpoint_public_access       = var.endpoint_public_access
  endpoint_private_access      = var.endpoint_private_access
  endpoint_public_access_cidrs = var.endpoint_public_access_cidrs

  iam_role_name       = local.names.cluster_role
  authentication_mode = "API_AND_CONFIG_MAP"
  enable_irsa         = true

  # Never by the caller of this run: a run under another identity would take the entry away from the one before.
  enable_cluster_creator_admin_permissions = false
  access_entries                           = local.access_entries
  kms_key_administrators                   = [local.creator]
  cluster_tags                             = merge(local.owner, { (local.creator_tag) = local.creator, (local.node_role_tag) = local.node_role })

  addons = local.addons

  # The built-in pools are there from the start: Flux and DNS need nodes before anybody wrote a pool.
  compute_config                = var.auto_mode ? { enabled = true, node_pools = ["general-purpose", "system"] } : null
  node_iam_role_name            = local.node_role
  node_iam_role_use_name_prefix = false

  eks_managed_node_groups = local.has_bootstrap_group ? {
    controllers = {
      # The EKS module never changes the number of nodes, and EKS refuses bounds that exclude it: another number makes
      # another group, which has its nodes before the first one is drained. The role stays.
      name           = var.bootstrap_size == 2 ? "controllers" : format("controllers-%d", var.bootstrap_size)
      iam_role_name  = "controllers-eks-node-group"
      instance_types = var.bootstrap_instance_types
      min_size       = var.bootstrap_size
      max_size       = var.bootstrap_size + 1
      desired_size   = var.bootstrap_size
      labels         = { "karpenter.sh/controller" = "true" }

      # The image is the newest when the group is made, and when the Kubernetes version changes.
      use_latest_ami_release_version = false
    }
  } : {}

  node_security_group_tags = local.discovery
  tags                     = var.tags
}

data "aws_iam_policy_document" "irsa" {
  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]
    principals {
      type        = "Federated"
      identifiers = [module.eks.oidc_provider_arn]
    }
    condition {
      test     = "StringEquals"
      variable = format("%s:aud", module.eks.oidc_provider)
      values   = ["sts.amazonaws.com"]
    }
    condition {
      test     = "StringEquals"
      variable = format("%s:sub", module.eks.oidc_provider)
      values   = [format("system:serviceaccount:%s:karpenter", var.karpenter_namespace)]
    }
  }
}

module "karpenter" {
  source  = "terraform-aws-modules/eks/aws//modules/karpenter"
  version = "21.19.0"

  create          = !var.auto_mode
  cluster_name    = module.eks.cluster_name
  namespace       = var.karpenter_namespace
  service_account = "karpenter"

  create_pod_identity_association         = var.identity == "podIdentity"
  iam_role_source_assume_policy_documents = var.identity == "irsa" ? [data.aws_iam_policy_document.irsa.json] : []
  enable_inline_policy                    = true

  queue_name                    = local.names.queue
  node_iam_role_name            = local.node_role
  node_iam_role_use_name_prefix = false
  node_iam_role_additional_policies = {
    ssm = format("arn:%s:iam::aws:policy/AmazonSSMManagedInstanceCore", data.aws_partition.current.partition)
  }
  tags = merge(var.tags, local.owner)
}

data "aws_partition" "current" {}

# The values of the outputs.
locals {
  cluster_name                       = module.eks.cluster_name
  cluster_endpoint                   = module.eks.cluster_endpoint
  cluster_certificate_authority_data = module.eks.cluster_certificate_authority_data
  cluster_version                    = module.eks.cluster_version
  cluster_service_cidr               = module.eks.cluster_service_cidr
  addon_versions                     = { for name, addon in local.addons : name => addon.addon_version }
  oidc_provider                      = module.eks.oidc_provider
  oidc_provider_arn                  = module.eks.oidc_provider_arn
  node_group_name                    = local.has_bootstrap_group ? element(split(":", module.eks.eks_managed_node_groups["controllers"].node_group_id), 1) : null
  auto_mode = !var.auto_mode ? null : {
    node_role_name     = module.eks.node_iam_role_name
    subnet_ids         = local.subnets
    security_group_ids = [module.eks.cluster_primary_security_group_id]
  }
  karpenter = var.auto_mode ? null : {
    identity                = var.identity
    controller_role_arn     = module.karpenter.iam_role_arn
    node_role_name          = module.karpenter.node_iam_role_name
    node_image              = terraform_data.node_image[0].output
    queue_name              = module.karpenter.queue_name
    discovery_tag           = { key = "karpenter.sh/discovery", value = var.cluster_name }
    service_account         = { annotations = var.identity == "irsa" ? { "eks.amazonaws.com/role-arn" = module.karpenter.iam_role_arn } : {} }
    ec2_node_class          = { role = module.karpenter.node_iam_role_name }
    subnet_ids              = local.subnets
    controller_node_minimum = var.bootstrap_size
  }
}
