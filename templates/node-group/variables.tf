# Inputs of a node group, in AWS and in simulation.

variable "node_group_name" {
  type        = string
  description = "Name of the node group. A suffix is appended in AWS, so that a group that must be replaced has a successor first."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$", var.node_group_name))
    error_message = "node_group_name must be 1 to 36 letters, digits, hyphens or underscores and start with a letter or digit."
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
