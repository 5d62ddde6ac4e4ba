# An EKS managed node group: node role, launch template and the group itself. EKS rolls changes of the launch template and
# of the Kubernetes version over the nodes, within the update configuration.

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

variable "node_group_name" {
  type        = string
  description = "Name of the node group. A suffix is appended in AWS, so that a group that must be replaced has a successor first."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$", var.node_group_name))
    error_message = "node_group_name must be 1 to 36 letters, digits, hyphens or underscores and start with a letter or digit."
  }
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes minor version of the nodes."
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

variable "subnets" {
  type        = list(string)
  description = "Subnets of the nodes; the private subnets of the VPC, by their role tag, when empty."
  default     = []
  validation {
    condition     = alltrue([for id in var.subnets : startswith(id, "subnet-")])
    error_message = "subnets must be ids of subnets."
  }
}

variable "instance_types" {
  type        = list(string)
  description = "Instance types, in order of preference."
  default     = ["t3.large"]
  validation {
    condition     = length(var.instance_types) > 0 && alltrue([for name in var.instance_types : can(regex("^[a-z0-9-]+\\.[a-z0-9-]+$", name))])
    error_message = "instance_types must be instance types such as m7i.large."
  }
}

variable "ami_type" {
  type        = string
  description = "Kind of image."
  default     = "AL2023_x86_64_STANDARD"
}

variable "capacity_type" {
  type        = string
  description = "On-demand or Spot instances."
  default     = "ON_DEMAND"
  validation {
    condition     = contains(["ON_DEMAND", "SPOT"], var.capacity_type)
    error_message = "capacity_type must be ON_DEMAND or SPOT."
  }
}

variable "disk_size" {
  type        = number
  description = "Size of the disk of each node in GiB."
  default     = 50
}

variable "min_size" {
  type        = number
  description = "Least number of nodes."
  default     = 1
  validation {
    condition     = var.min_size >= 0
    error_message = "min_size must not be negative."
  }
}

variable "max_size" {
  type        = number
  description = "Most nodes."
  default     = 1
  validation {
    condition     = var.max_size >= 1
    error_message = "max_size must be at least 1."
  }
}

variable "desired_size" {
  type        = number
  description = "Number of nodes."
  default     = 1
  validation {
    condition     = var.desired_size >= 0
    error_message = "desired_size must not be negative."
  }
}

variable "autoscaled" {
  type        = bool
  description = "Whether an autoscaler owns the number of nodes: desired_size counts for a new group only."
  default     = false
}

variable "labels" {
  type        = map(string)
  description = "Labels of the nodes."
  default     = {}
}

variable "taints" {
  type = list(object({
    key    = string
    value  = optional(string)
    effect = string
  }))
  description = "Taints of the nodes, with the effects of EKS."
  default     = []
  validation {
    condition     = alltrue([for taint in var.taints : contains(["NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"], taint.effect)])
    error_message = "taints must have the effect NO_SCHEDULE, PREFER_NO_SCHEDULE or NO_EXECUTE."
  }
}

variable "max_unavailable" {
  type        = number
  description = "Number of nodes that EKS may replace at the same time; 1 when this and the percentage are left out."
  default     = null
}

variable "max_unavailable_percentage" {
  type        = number
  description = "The same as a share of the nodes, in percent."
  default     = null
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
  count = length(var.subnets) == 0 ? 1 : 0
  filter {
    name   = "vpc-id"
    values = [var.vpc_id]
  }
  filter {
    name   = "tag:kubernetes.io/role/internal-elb"
    values = ["1"]
  }
}

# The security group that the nodes of the control plane template and of Karpenter share.
data "aws_security_groups" "nodes" {
  filter {
    name   = "vpc-id"
    values = [var.vpc_id]
  }
  filter {
    name   = "tag:karpenter.sh/discovery"
    values = [var.cluster_name]
  }
}

data "aws_eks_node_groups" "all" {
  cluster_name = var.cluster_name
}

# An autoscaler changes the number of nodes between runs: the group is left at the number that it has.
data "aws_eks_node_group" "made" {
  count           = length(local.made) > 0 ? 1 : 0
  cluster_name    = var.cluster_name
  node_group_name = one(slice(local.made, 0, 1))
}

data "aws_partition" "current" {}

locals {
  subnets         = length(var.subnets) > 0 ? var.subnets : one(data.aws_subnets.private[*].ids)
  security_groups = data.aws_security_groups.nodes.ids
  group_prefix    = format("%s-", var.node_group_name)
  made            = reverse(sort([for name in data.aws_eks_node_groups.all.names : name if can(regex(format("^%s[0-9a-f]{26}$", local.group_prefix), name))]))
  found_size      = try(data.aws_eks_node_group.made[0].scaling_config[0].desired_size, var.desired_size)
  desired_size    = var.autoscaled ? min(max(local.found_size, var.min_size), var.max_size) : var.desired_size
  percentage      = var.max_unavailable_percentage
  unavailable     = local.percentage == null ? coalesce(var.max_unavailable, 1) : null

  # Terraform appends 26 characters to a prefix: a role may have 64, a launch template 128.
  name   = format("%s-%s", var.cluster_name, var.node_group_name)
  short  = length(local.name) <= 37 ? local.name : format("%s-%s", substr(local.name, 0, 28), substr(sha256(local.name), 0, 8))
  prefix = format("%s-", local.short)

  # Bottlerocket keeps images and containers on a second disk.
  disk = startswith(var.ami_type, "BOTTLEROCKET_") ? "/dev/xvdb" : "/dev/xvda"
}

resource "aws_iam_role" "node" {
  name_prefix = local.prefix
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each   = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"])
  role       = aws_iam_role.node.name
  policy_arn = format("arn:%s:iam::aws:policy/%s", data.aws_partition.current.partition, each.key)
}

resource "aws_launch_template" "node" {
  name_prefix            = local.prefix
  update_default_version = true
  vpc_security_group_ids = local.security_groups
  tags                   = var.tags

  block_device_mappings {
    device_name = local.disk
    ebs {
      volume_size           = var.disk_size
      volume_type           = "gp3"
      encrypted             = true
      delete_on_termination = true
    }
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  dynamic "tag_specifications" {
    for_each = toset(["instance", "volume", "network-interface"])
    content {
      resource_type = tag_specifications.value
      tags          = merge({ Name = local.name }, var.tags)
    }
  }

  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = length(local.security_groups) > 0
      error_message = "No security group of the VPC has the tag karpenter.sh/discovery with the name of the cluster: nodes could not reach each other."
    }
  }
}

resource "aws_eks_node_group" "this" {
  cluster_name           = var.cluster_name
  node_group_name_prefix = local.group_prefix
  version                = var.kubernetes_version
  node_role_arn          = aws_iam_role.node.arn
  subnet_ids             = local.subnets
  instance_types         = var.instance_types
  ami_type               = var.ami_type
  capacity_type          = var.capacity_type
  labels                 = var.labels
  tags                   = var.tags

  scaling_config {
    min_size     = var.min_size
    max_size     = var.max_size
    desired_size = local.desired_size
  }

  update_config {
    max_unavailable            = local.unavailable
    max_unavailable_percentage = local.percentage
  }

  launch_template {
    id      = aws_launch_template.node.id
    version = aws_launch_template.node.latest_version
  }

  dynamic "taint" {
    for_each = var.taints
    content {
      key    = taint.value.key
      value  = taint.value.value
      effect = taint.value.effect
    }
  }

  # Without its policies a node neither joins nor leaves.
  depends_on = [aws_iam_role_policy_attachment.node]

  # Other types, images, capacity or subnets need another group: it has its nodes before the first one is drained.
  lifecycle {
    create_before_destroy = true
  }

  timeouts {
    create = "30m"
    update = "120m"
    delete = "60m"
  }
}

output "node_group_name" {
  description = "Name of the node group."
  value       = aws_eks_node_group.this.node_group_name
}

output "node_group_arn" {
  description = "ARN of the node group."
  value       = aws_eks_node_group.this.arn
}

output "kubernetes_version" {
  description = "Kubernetes version of the nodes."
  value       = aws_eks_node_group.this.version
}

output "node_role_arn" {
  description = "ARN of the IAM role of the nodes."
  value       = aws_iam_role.node.arn
}

output "security_groups" {
  description = "Security groups of the nodes."
  value       = local.security_groups
}

output "subnets" {
  description = "Subnets of the nodes."
  value       = local.subnets
}

output "nodes" {
  description = "How many nodes of which kind."
  value = {
    size           = aws_eks_node_group.this.scaling_config[0].desired_size
    instance_types = var.instance_types
    capacity_type  = var.capacity_type
    labels         = var.labels
    taints         = var.taints
  }
}
