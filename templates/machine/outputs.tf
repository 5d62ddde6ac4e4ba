# Outputs of a machine, in AWS and in simulation; locals give the values.

output "instance_id" {
  description = "Id of the instance."
  value       = local.instance_id
}

output "provider_id" {
  description = "Id of the instance as its Node has it."
  value       = local.provider_id
}

output "private_ip" {
  description = "Private address of the instance."
  value       = local.private_ip
}

output "node_name" {
  description = "Name of the Node."
  value       = local.node_name
}

output "zone" {
  description = "Availability zone of the instance."
  value       = local.zone
}
