# A first NodePool and its EC2NodeClass, on request. They are a release of a chart that lies in this module: Helm needs their
# definitions only when it applies, and an uninstall removes them while Karpenter still runs.

data "aws_ssm_parameter" "image" {
  count = var.default_node_pool && var.node_pool.image == "" ? 1 : 0
  name  = "/aws/service/eks/optimized-ami/${local.kubernetes}/amazon-linux-2023/x86_64/standard/recommended/release_version"
}

# What EKS recommends on the day of the installation stays the pin: `latest` would replace every node whenever AWS publishes
# an image. Another Kubernetes version asks again, because an image exists for some versions alone.
resource "terraform_data" "image" {
  count            = var.default_node_pool ? 1 : 0
  input            = local.wanted_image
  triggers_replace = [local.kubernetes, var.node_pool.image]

  lifecycle {
    ignore_changes = [input]
  }
}

locals {
  # A release is written 1.35.2-20261102; an alias names its date.
  wanted_image = var.node_pool.image != "" ? var.node_pool.image : try("al2023@v${regex("-([0-9]{8})$", data.aws_ssm_parameter.image[0].insecure_value)[0]}", "")
  pinned_image = var.default_node_pool ? terraform_data.image[0].output : ""

  found_zones = distinct([for subnet in data.aws_subnet.node : subnet.availability_zone])
  zones       = sort(length(var.node_pool.zones) > 0 ? var.node_pool.zones : local.found_zones)
  selected    = [{ tags = { (var.discovery_tag) = local.cluster_name } }]

  node_class = {
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = var.node_pool.name }
    spec = {
      amiSelectorTerms           = [{ alias = local.pinned_image }]
      instanceProfile            = local.bounded.instance_profile
      subnetSelectorTerms        = local.selected
      securityGroupSelectorTerms = local.selected
    }
  }

  # v1 fills in nothing: what is left out may be arm64, Windows or Spot.
  node_pool = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = var.node_pool.name }
    spec = {
      template = { spec = {
        nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = var.node_pool.name }
        requirements = [
          { key = "karpenter.sh/capacity-type", operator = "In", values = var.node_pool.capacity_types },
          { key = "karpenter.k8s.aws/instance-category", operator = "In", values = var.node_pool.instance_categories },
          { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = [tostring(var.node_pool.generation_above)] },
          { key = "kubernetes.io/os", operator = "In", values = ["linux"] },
          { key = "kubernetes.io/arch", operator = "In", values = ["amd64"] },
          { key = "topology.kubernetes.io/zone", operator = "In", values = local.zones },
        ]
        expireAfter = var.node_pool.expire_after
      } }
      disruption = {
        consolidationPolicy = var.node_pool.consolidation_policy
        consolidateAfter    = var.node_pool.consolidate_after
      }
      limits = { cpu = tostring(var.node_pool.cpu_limit) }
    }
  }
}

resource "helm_release" "node_pool" {
  count     = var.default_node_pool ? 1 : 0
  name      = "${local.release_name}-node-pool"
  chart     = "${path.module}/charts/node-pool"
  namespace = var.namespace
  values    = [yamlencode({ objects = [local.node_class, local.node_pool] })]

  lifecycle {
    precondition {
      condition     = var.install_chart
      error_message = "default_node_pool needs install_chart: without Karpenter nobody serves NodePools. With Flux, leave the pool to the pipeline or to capt karpenter."
    }
    precondition {
      condition     = can(regex("^[a-z0-9]+@v", local.wanted_image))
      error_message = "EKS names no Amazon Linux 2023 image for Kubernetes ${local.kubernetes}; set node_pool.image to an alias like al2023@v20261102."
    }
  }

  # The release comes first and goes last: it has to end the machines. The gate between them waits for that.
  depends_on = [terraform_data.drained]
}
