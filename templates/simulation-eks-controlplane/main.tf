# An EKS control plane that exists only in Terraform's state; its API is the simulated workload cluster that capt serves.
# The same inputs and outputs as the eks-controlplane template, made of terraform_data.

variable "cluster_name" {
  type        = string
  description = "Name of the cluster."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, hyphens or underscores and start with a letter or digit."
  }
}

variable "cluster_owner" {
  type        = string
  description = "Namespace and name of the Cluster, as the tag by which its EKS cluster and queue are recognized."
  default     = null
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes minor version."
  validation {
    condition     = can(regex("^1\\.[0-9]+$", var.kubernetes_version))
    error_message = "kubernetes_version must be a minor version such as 1.35."
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

variable "vpc_id" {
  type        = string
  description = "VPC of the cluster."
  validation {
    condition     = startswith(var.vpc_id, "vpc-")
    error_message = "vpc_id must be the id of a VPC."
  }
}

variable "private_subnets" {
  type        = list(string)
  description = "Subnets for the control plane and the nodes."
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

variable "endpoint_public_access" {
  type        = bool
  description = "Whether the API server is reached from the internet."
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

variable "addons" {
  type = map(object({
    version              = optional(string)
    configuration_values = optional(string)
  }))
  description = "EKS add-ons beside the built-in ones."
  default     = {}
}

variable "auto_mode" {
  type        = bool
  description = "EKS Auto Mode: EKS makes and upgrades the nodes, and there is neither a node group nor Karpenter."
  default     = false
}

variable "identity" {
  type        = string
  description = "How Karpenter gets its AWS credentials."
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

variable "tags" {
  type        = map(string)
  description = "Tags of everything that is made."
  default     = {}
}

variable "workload_endpoint" {
  type        = string
  description = "Address of the API server that plays the workload cluster."
}

variable "workload_ca" {
  type        = string
  description = "CA certificate of that API server, PEM."
}

variable "workload_token" {
  type        = string
  description = "Bearer token of that API server."
  sensitive   = true
}

locals {
  account = "000000000000"
  addons = merge(
    { for name in var.auto_mode ? [] : ["coredns", "kube-proxy", "vpc-cni", "eks-pod-identity-agent"] : name => { version = null, configuration_values = null } },
    var.addons,
  )
  node_role = "${var.auto_mode ? "AutoMode" : "Karpenter"}NodeRole-${substr(var.cluster_name, 0, 40)}"
  issuer    = "oidc.eks.${var.region}.amazonaws.com/id/${upper(substr(sha256(var.cluster_name), 0, 32))}"
}

resource "terraform_data" "cluster_role" {
  input = { name = "${var.cluster_name}-cluster" }
}

resource "terraform_data" "cluster_security_group" {
  input = { vpc = var.vpc_id, tags = { "karpenter.sh/discovery" = var.cluster_name } }
}

resource "terraform_data" "encryption_key" {
  input = { alias = "eks/${var.cluster_name}" }
}

resource "terraform_data" "cluster" {
  input = {
    name    = var.cluster_name
    version = var.kubernetes_version
    role    = terraform_data.cluster_role.output.name
    key     = terraform_data.encryption_key.output.alias
    subnets = var.private_subnets
    public  = var.endpoint_public_access
    private = var.endpoint_private_access
    cidrs   = var.endpoint_public_access_cidrs
    tags    = var.tags
    caller  = [var.assume_role_arn, var.assume_role_external_id]
  }
}

resource "terraform_data" "oidc_provider" {
  input = { issuer = local.issuer, cluster = terraform_data.cluster.output.name }
}

resource "terraform_data" "access_entry" {
  for_each = toset(concat(["capt", "nodes"], var.access[*].principal_arn))
  input    = { cluster = terraform_data.cluster.output.name, principal = each.key }
}

resource "terraform_data" "node_role" {
  input = { name = local.node_role }
}

resource "terraform_data" "node_policy" {
  for_each = toset(var.auto_mode ? ["AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly"] : ["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"])
  input    = { role = terraform_data.node_role.output.name, policy = each.key }
}

# On its own, so that clusters from before it stay as they are.
resource "terraform_data" "auto_mode" {
  count = var.auto_mode ? 1 : 0
  input = { cluster = terraform_data.cluster.output.name, node_pools = ["general-purpose", "system"] }
}

resource "terraform_data" "node_group" {
  count = var.auto_mode ? 0 : 1
  input = {
    cluster = terraform_data.cluster.output.name
    role    = terraform_data.node_role.output.name
    labels  = { "karpenter.sh/controller" = "true" }
    size    = 2
  }
}

resource "terraform_data" "addon" {
  for_each = local.addons
  input = {
    cluster       = terraform_data.cluster.output.name
    name          = each.key
    version       = each.value.version
    configuration = each.value.configuration_values
  }
}

resource "terraform_data" "karpenter_role" {
  count = var.auto_mode ? 0 : 1
  input = { name = "KarpenterControllerRole-${substr(var.cluster_name, 0, 38)}", trust = var.identity, namespace = var.karpenter_namespace }
}

resource "terraform_data" "karpenter_policy" {
  count = var.auto_mode ? 0 : 1
  input = { role = terraform_data.karpenter_role[0].output.name }
}

resource "terraform_data" "interruption_queue" {
  count = var.auto_mode ? 0 : 1
  input = { name = "Karpenter-${var.cluster_name}" }
}

resource "terraform_data" "event_rule" {
  for_each = toset(var.auto_mode ? [] : ["health", "spot-interruption", "rebalance", "state-change"])
  input    = { queue = terraform_data.interruption_queue[0].output.name, event = each.key }
}

output "cluster_name" {
  description = "Name of the cluster."
  value       = terraform_data.cluster.output.name
}

output "cluster_endpoint" {
  description = "Address of the API server."
  value       = var.workload_endpoint
}

output "cluster_certificate_authority_data" {
  description = "CA certificate of the API server, base64."
  value       = base64encode(var.workload_ca)
}

output "cluster_version" {
  description = "Kubernetes version that runs."
  value       = terraform_data.cluster.output.version
}

output "cluster_service_cidr" {
  description = "Addresses of Services; nodes that start by user data need them."
  value       = "10.100.0.0/16"
}

output "addon_versions" {
  description = "EKS add-ons and their versions."
  value       = { for name, addon in var.addons : name => addon.version if addon.version != null }
}

output "oidc_provider" {
  description = "OIDC issuer without scheme."
  value       = terraform_data.oidc_provider.output.issuer
}

output "oidc_provider_arn" {
  description = "IAM OIDC provider."
  value       = "arn:aws:iam::${local.account}:oidc-provider/${terraform_data.oidc_provider.output.issuer}"
}

output "public_subnets" {
  description = "Subnets for load balancers that the internet reaches, as given."
  value       = var.public_subnets
}

output "auto_mode" {
  description = "What node pools of EKS Auto Mode need; nothing without it."
  value = !var.auto_mode ? null : {
    node_role_name     = terraform_data.node_role.output.name
    subnet_ids         = length(var.private_subnets) > 0 ? var.private_subnets : ["subnet-simulated"]
    security_group_ids = ["sg-simulated"]
  }
}

output "karpenter" {
  description = "What the Karpenter add-on needs; nothing in EKS Auto Mode."
  value = var.auto_mode ? null : {
    identity                = var.identity
    controller_role_arn     = "arn:aws:iam::${local.account}:role/${terraform_data.karpenter_role[0].output.name}"
    node_role_name          = terraform_data.node_role.output.name
    queue_name              = terraform_data.interruption_queue[0].output.name
    discovery_tag           = { key = "karpenter.sh/discovery", value = var.cluster_name }
    service_account         = { annotations = var.identity == "irsa" ? { "eks.amazonaws.com/role-arn" = "arn:aws:iam::${local.account}:role/${terraform_data.karpenter_role[0].output.name}" } : {} }
    ec2_node_class          = { role = terraform_data.node_role.output.name }
    controller_node_minimum = terraform_data.node_group[0].output.size
  }
}

output "kubeconfig" {
  description = "Kubeconfig of the simulated workload cluster."
  sensitive   = true
  value = jsonencode({
    apiVersion        = "v1"
    kind              = "Config"
    "current-context" = var.cluster_name
    clusters = [{
      name    = var.cluster_name
      cluster = { server = var.workload_endpoint, "certificate-authority-data" = base64encode(var.workload_ca) }
    }]
    contexts = [{ name = var.cluster_name, context = { cluster = var.cluster_name, user = "capt" } }]
    users    = [{ name = "capt", user = { token = var.workload_token } }]
  })
}
