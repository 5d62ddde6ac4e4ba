# Outputs of a control plane, in AWS and in simulation; locals give the values.

output "cluster_name" {
  description = "Name of the cluster."
  value       = local.cluster_name
}

output "cluster_endpoint" {
  description = "Address of the API server."
  value       = local.cluster_endpoint
}

output "cluster_certificate_authority_data" {
  description = "CA certificate of the API server, base64."
  value       = local.cluster_certificate_authority_data
}

output "cluster_version" {
  description = "Kubernetes version that runs."
  value       = local.cluster_version
}

output "cluster_service_cidr" {
  description = "Addresses of Services; nodes that start by user data need them."
  value       = local.cluster_service_cidr
}

output "addon_versions" {
  description = "EKS add-ons and their versions."
  value       = local.addon_versions
}

output "oidc_provider" {
  description = "OIDC issuer without scheme."
  value       = local.oidc_provider
}

output "oidc_provider_arn" {
  description = "IAM OIDC provider."
  value       = local.oidc_provider_arn
}

output "public_subnets" {
  description = "Subnets for load balancers that the internet reaches, as given."
  value       = var.public_subnets
}

output "auto_mode" {
  description = "What node pools of EKS Auto Mode need; nothing without it."
  value       = local.auto_mode
}

output "node_group_name" {
  description = "Node group for controllers, which machines may be like; nothing where there is none."
  value       = local.node_group_name
}

output "karpenter" {
  description = "What the Karpenter add-on needs; nothing in EKS Auto Mode."
  value       = local.karpenter
}
