# An EKS managed node group that exists only in Terraform's state; capt makes its Nodes in the simulated workload cluster.
# The same inputs and outputs as the node-group template, made of terraform_data.

variable "cluster_name" {
  type        = string
  description = "Name of the cluster."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, hyphens or underscores and start with a letter or digit."
  }
}

variable "node_group_name" {
  type        = string
  description = "Name of the node group. A suffix is appended in AWS, so that a group that must be replaced has a successor first."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$", var.node_group_name))
    error_message = "node_group_name must be 1 to 36 letters, digits, hyphens or underscores and start with a letter or digit."
  }
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes minor version of the nodes."
  validation {
    condition     = can(regex("^1\\.[0-9]+$", var.kubernetes_version))
    error_message = "kubernetes_version must be a minor version such as 1.35."
  }
}

variable "region" {
  type        = string
  description = "AWS region."
  validation {
    condition     = can(regex("^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$", var.region))
    error_message = "region must be an AWS region such as eu-west-1."
  }
}

variable "vpc_id" {
  type        = string
  description = "VPC of the cluster."
  validation {
    condition     = startswith(var.vpc_id, "vpc-")
    error_message = "vpc_id must be the id of a VPC."
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

variable "assume_role_arn" {
  type        = string
  description = "IAM role to assume; the credentials of the run itself when left out."
  default     = null
}

variable "assume_role_external_id" {
  type        = string
  description = "External id that the role asks for."
  default     = null
}

variable "tags" {
  type        = map(string)
  description = "Tags of everything that is made."
  default     = {}
}

locals {
  account = "000000000000"
  subnets = length(var.subnets) > 0 ? var.subnets : ["subnet-simulated"]
}

resource "terraform_data" "node_role" {
  input = {
    name   = format("%s-%s", var.cluster_name, var.node_group_name)
    caller = [var.assume_role_arn, var.assume_role_external_id]
  }
}

resource "terraform_data" "node_policy" {
  for_each = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"])
  input    = { role = terraform_data.node_role.output.name, policy = each.key }
}

resource "terraform_data" "launch_template" {
  input = {
    name = format("%s-%s", var.cluster_name, var.node_group_name)
    disk = var.disk_size
    vpc  = var.vpc_id
    tags = var.tags
  }
}

resource "terraform_data" "node_group" {
  input = {
    cluster       = var.cluster_name
    name          = var.node_group_name
    version       = var.kubernetes_version
    role          = terraform_data.node_role.output.name
    template      = terraform_data.launch_template.output.name
    image         = var.ami_type
    minimum       = var.min_size
    maximum       = var.max_size
    size          = var.desired_size
    autoscaled    = var.autoscaled
    unavailable   = var.max_unavailable
    percentage    = var.max_unavailable_percentage
    types         = var.instance_types
    capacity_type = var.capacity_type
    labels        = var.labels
    taints        = var.taints
  }
}

output "node_group_name" {
  description = "Name of the node group."
  value       = terraform_data.node_group.output.name
}

output "node_group_arn" {
  description = "ARN of the node group."
  value       = format("arn:aws:eks:%s:%s:nodegroup/%s/%s/simulated", var.region, local.account, var.cluster_name, terraform_data.node_group.output.name)
}

output "kubernetes_version" {
  description = "Kubernetes version of the nodes."
  value       = terraform_data.node_group.output.version
}

output "node_role_arn" {
  description = "ARN of the IAM role of the nodes."
  value       = format("arn:aws:iam::%s:role/%s", local.account, terraform_data.node_role.output.name)
}

output "security_groups" {
  description = "Security groups of the nodes."
  value       = ["sg-simulated"]
}

output "subnets" {
  description = "Subnets of the nodes."
  value       = local.subnets
}

output "nodes" {
  description = "How many nodes of which kind; the simulation makes them in the workload cluster."
  value = {
    size           = terraform_data.node_group.output.size
    instance_types = terraform_data.node_group.output.types
    capacity_type  = terraform_data.node_group.output.capacity_type
    labels         = terraform_data.node_group.output.labels
    taints         = terraform_data.node_group.output.taints
  }
}
