# Inputs of a machine, in AWS and in simulation.

variable "instance_type" {
  type        = string
  description = "EC2 instance type."
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.(nano|micro|small|medium|large|[0-9]*xlarge|metal(-[a-z0-9]+)?)$", var.instance_type))
    error_message = "instance_type must be an EC2 instance type such as m7i.large."
  }
}

variable "image_id" {
  type        = string
  description = "AMI; the recommended one for the version of the node when left out."
  default     = null
}

variable "machine_name" {
  type        = string
  description = "Name of the machine, as the Name tag."
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the node; that of the node group, or else of the cluster, when left out."
  default     = null
  validation {
    condition     = var.kubernetes_version == null || can(regex("^[0-9]+\\.[0-9]+$", var.kubernetes_version))
    error_message = "kubernetes_version must be a minor version such as 1.34."
  }
}

variable "zone" {
  type        = string
  description = "Availability zone that the subnet must be in."
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

variable "labels" {
  type        = map(string)
  description = "Labels of the node."
  default     = {}
}

variable "node_role_name" {
  type        = string
  description = "IAM role that may join the cluster already. Without it and without a node group the instance gets its own."
  default     = null
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

variable "node_group" {
  type        = string
  description = "EKS node group that supplies subnets, security group, node role and image where they are not given."
  default     = null
}

variable "security_group_ids" {
  type        = list(string)
  description = "Security groups; when empty that of the other nodes, or else of the cluster."
  default     = []
  validation {
    condition     = alltrue([for id in var.security_group_ids : startswith(id, "sg-")])
    error_message = "security_group_ids must be ids of security groups."
  }
}
