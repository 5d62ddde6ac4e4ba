# An EKS managed node group: node role, launch template and the group itself. EKS rolls changes of the launch template and
# of the Kubernetes version over the nodes, within the update configuration.

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

# The values of the outputs.
locals {
  node_group_name    = aws_eks_node_group.this.node_group_name
  node_group_arn     = aws_eks_node_group.this.arn
  kubernetes_version = aws_eks_node_group.this.version
  node_role_arn      = aws_iam_role.node.arn
  nodes = {
    size           = aws_eks_node_group.this.scaling_config[0].desired_size
    instance_types = var.instance_types
    capacity_type  = var.capacity_type
    labels         = var.labels
    taints         = var.taints
  }
}
