# An EKS managed node group that exists only in Terraform's state; capt makes its Nodes in the simulated workload cluster.
# The same inputs and outputs as the node-group template, made of terraform_data.

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

# The values of the outputs.
locals {
  node_group_name    = terraform_data.node_group.output.name
  node_group_arn     = format("arn:aws:eks:%s:%s:nodegroup/%s/%s/simulated", var.region, local.account, var.cluster_name, terraform_data.node_group.output.name)
  kubernetes_version = terraform_data.node_group.output.version
  node_role_arn      = format("arn:aws:iam::%s:role/%s", local.account, terraform_data.node_role.output.name)
  security_groups    = ["sg-simulated"]
  nodes = {
    size           = terraform_data.node_group.output.size
    instance_types = terraform_data.node_group.output.types
    capacity_type  = terraform_data.node_group.output.capacity_type
    labels         = terraform_data.node_group.output.labels
    taints         = terraform_data.node_group.output.taints
  }
}
