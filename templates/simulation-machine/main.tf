# An EC2 instance that exists only in Terraform's state; its Node joins the simulated workload cluster.
# The same inputs and outputs as the machine template, made of terraform_data.

variable "cluster_name" {
  type        = string
  description = "Name of the cluster that the instance joins."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, hyphens or underscores and start with a letter or digit."
  }
}

variable "region" {
  type        = string
  description = "AWS region that is imitated."
  validation {
    condition     = can(regex("^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$", var.region))
    error_message = "region must be an AWS region such as eu-west-1."
  }
}

variable "machine_name" {
  type        = string
  description = "Name of the machine, as the Name tag."
}

variable "instance_type" {
  type        = string
  description = "EC2 instance type."
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.(nano|micro|small|medium|large|[0-9]*xlarge|metal(-[a-z0-9]+)?)$", var.instance_type))
    error_message = "instance_type must be an EC2 instance type such as m7i.large."
  }
}

variable "node_group" {
  type        = string
  description = "EKS node group that supplies subnets, node role and image where they are not given."
  default     = null
}

variable "subnet_ids" {
  type        = list(string)
  description = "Subnets, one of which is chosen by the name of the machine."
  default     = []
  validation {
    condition     = alltrue([for id in var.subnet_ids : startswith(id, "subnet-")])
    error_message = "subnet_ids must be ids of subnets."
  }
}

variable "security_group_ids" {
  type        = list(string)
  description = "Security groups; that of the cluster when empty."
  default     = []
  validation {
    condition     = alltrue([for id in var.security_group_ids : startswith(id, "sg-")])
    error_message = "security_group_ids must be ids of security groups."
  }
}

variable "node_role_name" {
  type        = string
  description = "IAM role that may join the cluster already. Without it and without a node group the instance gets its own."
  default     = null
}

variable "image_id" {
  type        = string
  description = "AMI; the recommended one for the version of the node group when left out."
  default     = null
}

variable "zone" {
  type        = string
  description = "Availability zone that the subnet must be in."
  default     = null
}

variable "labels" {
  type        = map(string)
  description = "Labels of the node."
  default     = {}
}

variable "tags" {
  type        = map(string)
  description = "Tags of everything that is made."
  default     = {}
}

variable "user_data_secret" {
  type        = string
  description = "Secret that the user data comes from."
}

variable "user_data" {
  type        = string
  description = "User data of a bootstrap provider; made here when empty."
  default     = ""
  sensitive   = true
}

variable "assume_role_arn" {
  type        = string
  description = "IAM role that would be assumed."
  default     = null
}

variable "assume_role_external_id" {
  type        = string
  description = "External id that the role asks for."
  default     = null
}

locals {
  id     = substr(replace(terraform_data.instance.id, "-", ""), 0, 17)
  octets = [for i in [0, 2, 4] : parseint(substr(local.id, i, 2), 16)]
  zone   = coalesce(var.zone, format("%s%s", var.region, element(["a", "b", "c"], parseint(substr(sha256(var.machine_name), 0, 6), 16))))
}

resource "terraform_data" "instance_profile" {
  input = {
    name = var.machine_name
    role = coalesce(var.node_role_name, var.node_group, var.machine_name)
  }
}

resource "terraform_data" "access_entry" {
  count = var.node_role_name == null && var.node_group == null ? 1 : 0
  input = { cluster = var.cluster_name, principal = terraform_data.instance_profile.output.role, type = "EC2_LINUX" }
}

resource "terraform_data" "instance" {
  input = {
    profile         = terraform_data.instance_profile.output.name
    security_groups = var.security_group_ids
    labels          = var.labels
    tags            = merge(var.tags, { Name = var.machine_name })
    caller          = [var.assume_role_arn, var.assume_role_external_id]
  }
  # As with EC2: what an instance was made from cannot change without another instance.
  triggers_replace = [var.instance_type]

  depends_on = [terraform_data.access_entry]
}

# The user data and the image that the instance started with.
resource "terraform_data" "start" {
  input = {
    image_id  = coalesce(var.image_id, "ami-simulated")
    subnets   = var.subnet_ids
    secret    = var.user_data_secret
    user_data = sha256(var.user_data)
  }
}

output "instance_id" {
  description = "Id of the instance."
  value       = format("i-%s", local.id)
}

output "provider_id" {
  description = "Id of the instance as its Node has it."
  value       = format("aws:///%s/i-%s", local.zone, local.id)
}

output "private_ip" {
  description = "Private address of the instance."
  value       = format("10.%d.%d.%d", local.octets...)
}

output "node_name" {
  description = "Name of the Node."
  value       = format("ip-10-%d-%d-%d.%s.compute.internal", concat(local.octets, [var.region])...)
}

output "zone" {
  description = "Availability zone of the instance."
  value       = local.zone
}
