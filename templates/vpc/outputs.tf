# Outputs of a network, in AWS and in simulation; locals give the values.

output "vpc_id" {
  description = "The VPC."
  value       = local.vpc_id
}

output "private_subnets" {
  description = "Subnets for the control plane and the nodes."
  value       = local.private_subnets
}

output "public_subnets" {
  description = "Subnets for load balancers that the internet reaches."
  value       = local.public_subnets
}

output "azs" {
  description = "Availability zones of the subnets."
  value       = local.zones
}
