# Inputs of control planes and node groups.

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes minor version, as EKS writes it."
  validation {
    condition     = can(regex("^1\\.[0-9]+$", var.kubernetes_version))
    error_message = "kubernetes_version must be a minor version such as 1.35."
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
