output "cluster_name" {
  description = "Name of the cluster."
  value       = local.cluster.name
}

output "cluster_endpoint" {
  description = "API endpoint of the cluster."
  value       = local.cluster.endpoint
}

output "karpenter_version" {
  description = "Chart version that the policy was made for."
  value       = local.chosen
}

output "karpenter_iam_role_arn" {
  description = "ARN of the controller role."
  value       = aws_iam_role.controller.arn
}

output "node_iam_role_name" {
  description = "Name of the node role, for spec.role of an EC2NodeClass."
  value       = aws_iam_role.node.name
}

output "node_iam_role_arn" {
  description = "ARN of the node role."
  value       = aws_iam_role.node.arn
}

output "node_instance_profile_name" {
  description = "Name of the instance profile, for spec.instanceProfile where Karpenter cannot make its own."
  value       = aws_iam_instance_profile.node.name
}

output "interruption_queue_name" {
  description = "Name of the interruption queue; empty when there is none."
  value       = try(aws_sqs_queue.interruption[0].name, "")
}

output "namespace" {
  description = "Namespace that the controller's trust names."
  value       = var.namespace
}

output "service_account" {
  description = "Service account that the controller's trust names."
  value       = local.service_account
}

output "discovery_tag" {
  description = "Tag on the subnets and the security group; its value is the cluster's name."
  value       = { (var.discovery_tag) = local.cluster.name }
}

output "pipeline_variables" {
  description = "Variables of capt's Karpenter stage, for installations that leave the chart to Flux."
  value = {
    CLUSTER_NAME            = local.cluster.name
    CLUSTER_ENDPOINT        = local.cluster.endpoint
    KARPENTER_IAM_ROLE_ARN  = aws_iam_role.controller.arn
    INTERRUPTION_QUEUE_NAME = try(aws_sqs_queue.interruption[0].name, "")
    KARPENTER_NODE_ROLE     = aws_iam_role.node.name
  }
}
