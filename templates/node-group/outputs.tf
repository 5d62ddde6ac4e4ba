# Outputs of a node group, in AWS and in simulation; locals give the values.

output "node_group_name" {
  description = "Name of the node group."
  value       = local.node_group_name
}

output "node_group_arn" {
  description = "ARN of the node group."
  value       = local.node_group_arn
}

output "kubernetes_version" {
  description = "Kubernetes version of the nodes."
  value       = local.kubernetes_version
}

output "node_role_arn" {
  description = "ARN of the IAM role of the nodes."
  value       = local.node_role_arn
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
  value       = local.nodes
}
