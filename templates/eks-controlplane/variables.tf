# Inputs of a control plane, in AWS and in simulation.

variable "endpoint_public_access" {
  type        = bool
  description = "Whether the API server is reached from the internet; a management cluster outside the VPC needs it."
  default     = true
}

variable "endpoint_private_access" {
  type        = bool
  description = "Whether the API server is reached inside the VPC."
  default     = true
}

variable "endpoint_public_access_cidrs" {
  type        = list(string)
  description = "Address blocks that may reach the public endpoint."
  default     = ["0.0.0.0/0"]
  validation {
    condition     = alltrue([for block in var.endpoint_public_access_cidrs : can(cidrhost(block, 0))])
    error_message = "endpoint_public_access_cidrs must be address blocks such as 203.0.113.0/24."
  }
}

variable "private_subnets" {
  type        = list(string)
  description = "Subnets for the control plane and the nodes; looked up by their role tag when empty."
  default     = []
  validation {
    condition     = alltrue([for id in var.private_subnets : startswith(id, "subnet-")])
    error_message = "private_subnets must be ids of subnets."
  }
}

variable "public_subnets" {
  type        = list(string)
  description = "Subnets for load balancers that the internet reaches; offered to add-ons as an output."
  default     = []
  validation {
    condition     = alltrue([for id in var.public_subnets : startswith(id, "subnet-")])
    error_message = "public_subnets must be ids of subnets."
  }
}

variable "addons" {
  type = map(object({
    version              = optional(string)
    configuration_values = optional(string)
  }))
  description = "EKS add-ons beside coredns, kube-proxy, vpc-cni and eks-pod-identity-agent, or other settings for those."
  default     = {}
}

variable "identity" {
  type        = string
  description = "How Karpenter gets its AWS credentials: podIdentity or irsa. Trust, association and annotation follow."
  default     = "podIdentity"
  validation {
    condition     = contains(["podIdentity", "irsa"], var.identity)
    error_message = "identity must be podIdentity or irsa."
  }
}

variable "karpenter_namespace" {
  type        = string
  description = "Namespace of Karpenter's service account."
  default     = "kube-system"
}

variable "auto_mode" {
  type        = bool
  description = "EKS Auto Mode: EKS makes and upgrades the nodes, and there is neither a node group nor Karpenter."
  default     = false
}

variable "cluster_owner" {
  type        = string
  description = "Namespace and name of the Cluster, as the tag by which its EKS cluster and queue are recognized."
  default     = null
}

variable "access" {
  type = list(object({
    principal_arn     = string
    kubernetes_groups = optional(list(string), [])
    username          = optional(string)
    policies = optional(list(object({
      name       = string
      namespaces = optional(list(string), [])
    })), [])
  }))
  description = "IAM principals with access to the cluster, beside the one that made it."
  default     = []
  validation {
    condition     = alltrue([for one in var.access : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$", one.principal_arn))])
    error_message = "access must name roles or users by their ARN, never a session of a role."
  }
}
