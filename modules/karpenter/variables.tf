variable "project" {
  description = "Project code; becomes the tag project."
  type        = string
  default     = ""
}

variable "env" {
  description = "Environment (dev, stg, qa, prod, ...); becomes the tag env."
  type        = string
  default     = ""
}

variable "region" {
  description = "AWS region; the region of the credentials when empty."
  type        = string
  default     = ""
}

variable "backend_s3_bucket_name" {
  description = "S3 bucket with the Terraform states of the cluster and the network."
  type        = string
  default     = ""
}

variable "eks_s3_key" {
  description = "Key of the cluster's state in that bucket; its outputs are used where no value is given here."
  type        = string
  default     = ""
}

variable "infra_network_s3_key" {
  description = "Key of the network's state (VPC, subnets) in that bucket."
  type        = string
  default     = ""
}

variable "eks_cluster_name" {
  description = "Name of the EKS cluster; everything else about it is looked up from this."
  type        = string
  default     = ""
}

variable "eks_endpoint_url" {
  description = "API endpoint of the cluster; looked up when empty."
  type        = string
  default     = ""
}

variable "eks_cluster_certificate_authority_data" {
  description = "CA of the cluster, base64; looked up when empty."
  type        = string
  default     = ""
}

variable "eks_oidc_provider_arn" {
  description = "ARN of the cluster's OIDC provider in IAM; derived from the issuer when empty."
  type        = string
  default     = ""
}

variable "eks_oidc_provider_url" {
  description = "Issuer of the cluster, with or without https://; looked up when empty."
  type        = string
  default     = ""
}

variable "eks_auth_token" {
  description = "Token for the cluster. Not needed: a fresh one is signed for every request when empty."
  type        = string
  default     = ""
  sensitive   = true
}

variable "helm_release_name" {
  description = "Name of the release; karpenter when empty."
  type        = string
  default     = ""
}

variable "helm_chart_name" {
  description = "Name of the chart; karpenter when empty."
  type        = string
  default     = ""
}

variable "helm_chart_version" {
  description = "Exact chart version; the version matrix chooses by the cluster's Kubernetes version when empty."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^(v?[0-9]+\\.[0-9]+\\.[0-9]+)?$", var.helm_chart_version))
    error_message = "Write one exact version like 1.14.1: public ECR lists no tags, so ranges cannot be resolved."
  }
}

variable "helm_repository_url" {
  description = "Repository of the chart; oci://public.ecr.aws/karpenter when empty."
  type        = string
  default     = ""
}

variable "create_namespace" {
  description = "Create the namespace with the release."
  type        = bool
  default     = true
}

variable "namespace" {
  description = "Namespace of Karpenter. The controller's trust follows it."
  type        = string
  default     = "karpenter"
}

variable "replica_count" {
  description = "Replicas of the controller. Each needs a node of its own that Karpenter did not make."
  type        = number
  default     = 2
}

variable "karpenter_values" {
  description = "Further chart values. They win over the variables here, except identity, cluster name and the placement guard."
  type        = any
  default     = {}

  validation {
    condition     = !can(var.karpenter_values.settings.aws)
    error_message = "settings.aws.* is not read since Karpenter 0.33: capt karpenter convert --values rewrites old values."
  }
}

variable "node_selector" {
  description = "Node selector of the controller, for example { role = \"ops\" }."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setintersection(keys(var.node_selector), ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"])) == 0
    error_message = "Karpenter must not run on nodes it made: select a label of a managed node group."
  }
}

variable "affinity" {
  description = "Affinity of the controller. The rule that keeps it off Karpenter's own nodes is added to every node-selector term."
  type        = any
  default     = {}
}

variable "tolerations" {
  description = "Tolerations of the controller."
  type = list(object({
    key               = optional(string)
    operator          = optional(string)
    value             = optional(string)
    effect            = optional(string)
    tolerationSeconds = optional(number)
  }))
  default = []
}

variable "identity" {
  description = "How the controller gets its role: irsa (OIDC provider of the cluster) or pod_identity (EKS Pod Identity agent)."
  type        = string
  default     = "irsa"

  validation {
    condition     = contains(["irsa", "pod_identity"], var.identity)
    error_message = "identity is irsa or pod_identity."
  }
}

variable "install_chart" {
  description = "Install the chart with helm_release; false leaves it to Flux and makes everything else."
  type        = bool
  default     = true
}

variable "install_crds" {
  description = "Install the karpenter-crd chart beside it, so that CRDs are upgraded with the controller."
  type        = bool
  default     = true
}

variable "take_ownership" {
  description = "Adopt objects of an earlier installation by other means (kubectl apply, CRDs of the chart's crds folder) instead of refusing."
  type        = bool
  default     = false
}

variable "interruption_queue" {
  description = "Make the queue and the rules through which Karpenter hears of interruptions."
  type        = bool
  default     = true
}

variable "require_spot_role" {
  description = "Refuse to go on while the account has no service-linked role for Spot; false for on-demand only."
  type        = bool
  default     = true
}

variable "subnet_ids" {
  description = "Subnets for nodes, to carry the discovery tag; those of the network state or of the cluster when empty."
  type        = list(string)
  default     = []
}

variable "security_group_id" {
  description = "The one security group of nodes, to carry the discovery tag; the cluster's own when empty."
  type        = string
  default     = ""
}

variable "discovery_tag" {
  description = "Tag key by which Karpenter finds subnets and the security group. Clusters that share subnets need different keys."
  type        = string
  default     = "karpenter.sh/discovery"
}

variable "manage_discovery_tags" {
  description = "Put the discovery tags on subnets and security group; false where the network's own Terraform writes them."
  type        = bool
  default     = true
}

variable "zonal_shift" {
  description = "Allow the controller to ask whether a zone is shifted away (Karpenter 1.12 and later)."
  type        = bool
  default     = false
}

variable "default_node_pool" {
  description = "Make a first NodePool and its EC2NodeClass, as node_pool describes them. They go before Karpenter in a destroy."
  type        = bool
  default     = false
}

variable "node_pool" {
  description = "The first pool: on-demand instances of the categories c, t, m above generation 2 in the zones of the subnets, at most 1000 CPU, consolidated. An empty image pins what EKS recommends at the installation."
  type = object({
    name                 = optional(string, "default")
    capacity_types       = optional(list(string), ["on-demand"])
    instance_categories  = optional(list(string), ["c", "t", "m"])
    generation_above     = optional(number, 2)
    zones                = optional(list(string), [])
    cpu_limit            = optional(number, 1000)
    consolidation_policy = optional(string, "WhenEmptyOrUnderutilized")
    consolidate_after    = optional(string, "1m")
    expire_after         = optional(string, "Never")
    image                = optional(string, "")
  })
  default = {}

  validation {
    condition     = can(regex("^([a-z0-9]+@v[0-9.]+)?$", var.node_pool.image))
    error_message = "node_pool.image is an exact alias like al2023@v20261102: latest replaces every node whenever AWS publishes an image."
  }
  validation {
    condition     = contains(["WhenEmpty", "WhenEmptyOrUnderutilized"], var.node_pool.consolidation_policy)
    error_message = "node_pool.consolidation_policy is WhenEmpty or WhenEmptyOrUnderutilized."
  }
  validation {
    condition     = length(setsubtract(var.node_pool.capacity_types, ["on-demand", "spot", "reserved"])) == 0
    error_message = "node_pool.capacity_types are on-demand, spot and reserved."
  }
}

variable "drain_timeout" {
  description = "Seconds that a destroy waits for the machines of the first pool to end before it gives up; nothing else is destroyed before."
  type        = number
  default     = 1800
}
