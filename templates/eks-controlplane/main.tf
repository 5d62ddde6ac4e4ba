# An EKS cluster on which Flux and Karpenter can start: control plane, a small node group for the controllers, the EKS
# add-ons that nodes need to become Ready, Karpenter's IAM, queue and node role, and access for capt itself. With
# auto_mode EKS makes the nodes, and node group, add-ons and Karpenter's part are left out.

terraform {
  required_version = ">= 1.5.7"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.28"
    }
  }
}

provider "aws" {
  region = var.region

  dynamic "assume_role" {
    for_each = var.assume_role_arn == null ? [] : [var.assume_role_arn]
    content {
      role_arn    = assume_role.value
      external_id = var.assume_role_external_id
    }
  }
}

variable "cluster_name" {
  type        = string
  description = "Name of the cluster."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, hyphens or underscores and start with a letter or digit."
  }
}

variable "cluster_owner" {
  type        = string
  description = "Namespace and name of the Cluster, as the tag by which its EKS cluster and queue are recognized."
  default     = null
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes minor version, as EKS writes it."
  validation {
    condition     = can(regex("^1\\.[0-9]+$", var.kubernetes_version))
    error_message = "kubernetes_version must be a minor version such as 1.35."
  }
}

variable "region" {
  type        = string
  description = "AWS region."
  validation {
    condition     = can(regex("^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$", var.region))
    error_message = "region must be an AWS region such as eu-west-1."
  }
}

variable "vpc_id" {
  type        = string
  description = "VPC of the cluster."
  validation {
    condition     = startswith(var.vpc_id, "vpc-")
    error_message = "vpc_id must be the id of a VPC."
  }
}

variable "private_subnets" {
  type        = list(string)
  description = "Subnets for the control plane and the nodes; looked up by their role tag when empty."
  default     = []
  validation {
    condition     = alltrue([for id in var.private_subnets : startswith(id, "subnet-")])
    error_message = "private_subnets must be ids of subnets."
  }
}

variable "public_subnets" {
  type        = list(string)
  description = "Subnets for load balancers that the internet reaches; offered to add-ons as an output."
  default     = []
  validation {
    condition     = alltrue([for id in var.public_subnets : startswith(id, "subnet-")])
    error_message = "public_subnets must be ids of subnets."
  }
}

variable "endpoint_public_access" {
  type        = bool
  description = "Whether the API server is reached from the internet; a management cluster outside the VPC needs it."
  default     = true
}

variable "endpoint_private_access" {
  type        = bool
  description = "Whether the API server is reached inside the VPC."
  default     = true
}

variable "endpoint_public_access_cidrs" {
  type        = list(string)
  description = "Address blocks that may reach the public endpoint."
  default     = ["0.0.0.0/0"]
  validation {
    condition     = alltrue([for block in var.endpoint_public_access_cidrs : can(cidrhost(block, 0))])
    error_message = "endpoint_public_access_cidrs must be address blocks such as 203.0.113.0/24."
  }
}

variable "access" {
  type = list(object({
    principal_arn     = string
    kubernetes_groups = optional(list(string), [])
    username          = optional(string)
    policies = optional(list(object({
      name       = string
      namespaces = optional(list(string), [])
    })), [])
  }))
  description = "IAM principals with access to the cluster, beside the one that made it."
  default     = []
  validation {
    condition     = alltrue([for one in var.access : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$", one.principal_arn))])
    error_message = "access must name roles or users by their ARN, never a session of a role."
  }
}

variable "addons" {
  type = map(object({
    version              = optional(string)
    configuration_values = optional(string)
  }))
  description = "EKS add-ons beside coredns, kube-proxy, vpc-cni and eks-pod-identity-agent, or other settings for those."
  default     = {}
}

variable "auto_mode" {
  type        = bool
  description = "EKS Auto Mode: EKS makes and upgrades the nodes, and there is neither a node group nor Karpenter."
  default     = false
}

variable "identity" {
  type        = string
  description = "How Karpenter gets its AWS credentials: podIdentity or irsa. Trust, association and annotation follow."
  default     = "podIdentity"
  validation {
    condition     = contains(["podIdentity", "irsa"], var.identity)
    error_message = "identity must be podIdentity or irsa."
  }
}

variable "karpenter_namespace" {
  type        = string
  description = "Namespace of Karpenter's service account."
  default     = "kube-system"
}

variable "bootstrap_instance_types" {
  type        = list(string)
  description = "Instance types of the node group on which the controllers run."
  default     = ["t3.large"]
}

variable "bootstrap_size" {
  type        = number
  description = "Nodes in that group; two, because Karpenter's replicas do not share a node."
  default     = 2
  validation {
    condition     = var.bootstrap_size >= 1
    error_message = "bootstrap_size must be at least 1: Flux and Karpenter need a node that Karpenter did not make."
  }
}

variable "assume_role_arn" {
  type        = string
  description = "IAM role to assume; the credentials of the run itself when left out."
  default     = null
}

variable "assume_role_external_id" {
  type        = string
  description = "External id that the role asks for."
  default     = null
}

variable "tags" {
  type        = map(string)
  description = "Tags of everything that is made."
  default     = {}
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

  # Whoever made the cluster keeps its entry, whoever applies later: the name is read back from the cluster's own tag.
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

  eks_managed_node_groups = var.auto_mode ? {} : {
    controllers = {
      instance_types = var.bootstrap_instance_types
      min_size       = var.bootstrap_size
      max_size       = var.bootstrap_size + 1
      desired_size   = var.bootstrap_size
      labels         = { "karpenter.sh/controller" = "true" }

      # The image is the newest when the group is made, and when the Kubernetes version changes.
      use_latest_ami_release_version = false
    }
  }

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

output "cluster_name" {
  description = "Name of the cluster."
  value       = module.eks.cluster_name
}

output "cluster_endpoint" {
  description = "Address of the API server."
  value       = module.eks.cluster_endpoint
}

output "cluster_certificate_authority_data" {
  description = "CA certificate of the API server, base64."
  value       = module.eks.cluster_certificate_authority_data
}

output "cluster_version" {
  description = "Kubernetes version that runs."
  value       = module.eks.cluster_version
}

output "cluster_service_cidr" {
  description = "Addresses of Services; nodes that start by user data need them."
  value       = module.eks.cluster_service_cidr
}

output "addon_versions" {
  description = "EKS add-ons and their versions."
  value       = { for name, addon in local.addons : name => addon.addon_version }
}

output "oidc_provider" {
  description = "OIDC issuer without scheme."
  value       = module.eks.oidc_provider
}

output "oidc_provider_arn" {
  description = "IAM OIDC provider."
  value       = module.eks.oidc_provider_arn
}

output "public_subnets" {
  description = "Subnets for load balancers that the internet reaches, as given."
  value       = var.public_subnets
}

output "auto_mode" {
  description = "What node pools of EKS Auto Mode need; nothing without it."
  value = !var.auto_mode ? null : {
    node_role_name     = module.eks.node_iam_role_name
    subnet_ids         = local.subnets
    security_group_ids = [module.eks.cluster_primary_security_group_id]
  }
}

output "karpenter" {
  description = "What the Karpenter add-on needs; nothing in EKS Auto Mode."
  value = var.auto_mode ? null : {
    identity                = var.identity
    controller_role_arn     = module.karpenter.iam_role_arn
    node_role_name          = module.karpenter.node_iam_role_name
    queue_name              = module.karpenter.queue_name
    discovery_tag           = { key = "karpenter.sh/discovery", value = var.cluster_name }
    service_account         = { annotations = var.identity == "irsa" ? { "eks.amazonaws.com/role-arn" = module.karpenter.iam_role_arn } : {} }
    ec2_node_class          = { role = module.karpenter.node_iam_role_name }
    subnet_ids              = local.subnets
    controller_node_minimum = var.bootstrap_size
  }
}
