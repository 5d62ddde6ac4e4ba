# An EKS control plane that exists only in Terraform's state; its API is the simulated workload cluster that capt serves.
# The same inputs and outputs as the eks-controlplane template, made of terraform_data.

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

# The values of the outputs.
locals {
  cluster_name                       = terraform_data.cluster.output.name
  cluster_endpoint                   = var.workload_endpoint
  cluster_certificate_authority_data = base64encode(var.workload_ca)
  cluster_version                    = terraform_data.cluster.output.version
  cluster_service_cidr               = "10.100.0.0/16"
  addon_versions                     = { for name, addon in var.addons : name => addon.version if addon.version != null }
  oidc_provider                      = terraform_data.oidc_provider.output.issuer
  oidc_provider_arn                  = "arn:aws:iam::${local.account}:oidc-provider/${terraform_data.oidc_provider.output.issuer}"
  node_group_name                    = var.auto_mode ? null : "controllers"
  auto_mode = !var.auto_mode ? null : {
    node_role_name     = terraform_data.node_role.output.name
    subnet_ids         = length(var.private_subnets) > 0 ? var.private_subnets : ["subnet-simulated"]
    security_group_ids = ["sg-simulated"]
  }
  karpenter = var.auto_mode ? null : {
    identity                = var.identity
    controller_role_arn     = "arn:aws:iam::${local.account}:role/${terraform_data.karpenter_role[0].output.name}"
    node_role_name          = terraform_data.node_role.output.name
    node_image              = "al2023@v20261102"
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
