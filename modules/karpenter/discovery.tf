# Tags by which Karpenter finds subnets and the security group. A tag has one value: another cluster's is never overwritten.

data "aws_subnet" "node" {
  for_each = var.manage_discovery_tags || var.default_node_pool ? local.subnet_ids : []
  id       = each.value
}

data "aws_security_group" "node" {
  count = var.manage_discovery_tags ? 1 : 0
  id    = local.security_group_id
}

resource "aws_ec2_tag" "subnet" {
  for_each    = var.manage_discovery_tags ? local.subnet_ids : []
  resource_id = each.value
  key         = var.discovery_tag
  value       = local.cluster.name

  lifecycle {
    precondition {
      condition     = contains(["", local.cluster.name], lookup(data.aws_subnet.node[each.value].tags, var.discovery_tag, ""))
      error_message = "Subnet ${each.value} already carries ${var.discovery_tag} for another cluster. Set discovery_tag to a key of this cluster's own, for example karpenter.sh/discovery/${local.cluster.name}."
    }
  }
}

resource "aws_ec2_tag" "security_group" {
  count       = var.manage_discovery_tags ? 1 : 0
  resource_id = local.security_group_id
  key         = var.discovery_tag
  value       = local.cluster.name

  lifecycle {
    precondition {
      condition     = contains(["", local.cluster.name], lookup(data.aws_security_group.node[0].tags, var.discovery_tag, ""))
      error_message = "Security group ${local.security_group_id} already carries ${var.discovery_tag} for another cluster. Set discovery_tag to a key of this cluster's own."
    }
  }
}
