# One EC2 instance that joins an EKS cluster: instance profile, access for its role, and user data for Amazon Linux 2023.

data "aws_partition" "current" {}

data "aws_eks_cluster" "this" {
  name = var.cluster_name
}

data "aws_eks_node_group" "this" {
  count           = var.node_group == null ? 0 : 1
  cluster_name    = var.cluster_name
  node_group_name = var.node_group
}

# The security group that node groups and the nodes of Karpenter share.
data "aws_security_groups" "nodes" {
  filter {
    name   = "vpc-id"
    values = [data.aws_eks_cluster.this.vpc_config[0].vpc_id]
  }
  filter {
    name   = "tag:karpenter.sh/discovery"
    values = [var.cluster_name]
  }
}

data "aws_ec2_instance_type" "this" {
  instance_type = var.instance_type
}

data "aws_subnet" "candidate" {
  for_each = toset(local.subnet_ids)
  id       = each.value
}

data "aws_ssm_parameter" "image" {
  count = var.image_id == null ? 1 : 0
  name  = format("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/standard/recommended/image_id", local.version, local.architecture)
}

locals {
  group        = one(data.aws_eks_node_group.this)
  version      = coalesce(var.kubernetes_version, try(local.group.version, null), data.aws_eks_cluster.this.version)
  architecture = contains(data.aws_ec2_instance_type.this.supported_architectures, "arm64") ? "arm64" : "x86_64"

  subnet_ids = length(var.subnet_ids) > 0 ? sort(var.subnet_ids) : sort(tolist(try(local.group.subnet_ids, [])))
  candidates = [for id in local.subnet_ids : id if var.zone == null || data.aws_subnet.candidate[id].availability_zone == var.zone]
  # Machines of a set spread over the subnets.
  position = parseint(substr(sha256(var.machine_name), 0, 6), 16)
  subnet   = length(local.candidates) == 0 ? null : local.candidates[local.position % length(local.candidates)]

  # That of the control plane alone would keep the machine from the other nodes, and from the DNS that runs there.
  node_security_groups = length(data.aws_security_groups.nodes.ids) > 0 ? data.aws_security_groups.nodes.ids : [data.aws_eks_cluster.this.vpc_config[0].cluster_security_group_id]
  security_groups      = length(var.security_group_ids) > 0 ? var.security_group_ids : local.node_security_groups

  # EKS lets one access entry name a role: machines of a node group share its role and entry, others get their own.
  has_own_role = var.node_role_name == null && var.node_group == null
  own_name     = format("%s-%s", substr(format("capt-%s", var.machine_name), 0, 50), substr(sha256(format("%s/%s", var.cluster_name, var.machine_name)), 0, 12))
  role         = local.has_own_role ? aws_iam_role.this[0].name : coalesce(var.node_role_name, try(element(reverse(split("/", local.group.node_role_arn)), 0), null))

  tags = merge(var.tags, { (format("kubernetes.io/cluster/%s", var.cluster_name)) = "owned" })

  # The kubelet may not set labels of Kubernetes itself; capt sets those on the Node.
  group_labels   = try(local.group.labels, {})
  kubelet_labels = { for key, value in merge(local.group_labels, var.labels) : key => value if !can(regex("(^|\\.)(kubernetes|k8s)\\.io/", key)) }

  node_config = jsonencode({
    apiVersion = "node.eks.aws/v1alpha1"
    kind       = "NodeConfig"
    spec = {
      cluster = {
        name                 = var.cluster_name
        apiServerEndpoint    = data.aws_eks_cluster.this.endpoint
        certificateAuthority = data.aws_eks_cluster.this.certificate_authority[0].data
        cidr                 = coalesce(data.aws_eks_cluster.this.kubernetes_network_config[0].service_ipv4_cidr, data.aws_eks_cluster.this.kubernetes_network_config[0].service_ipv6_cidr)
      }
      kubelet = length(local.kubelet_labels) == 0 ? {} : {
        flags = [format("--node-labels=%s", join(",", [for key, value in local.kubelet_labels : format("%s=%s", key, value)]))]
      }
    }
  })
  own_user_data = join("\n", [
    "MIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=\"CAPT\"",
    "",
    "--CAPT",
    "Content-Type: application/node.eks.aws",
    "",
    local.node_config,
    "--CAPT--",
    "",
  ])
}

resource "aws_iam_role" "this" {
  count = local.has_own_role ? 1 : 0
  name  = local.own_name
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = format("ec2.%s", data.aws_partition.current.dns_suffix) }
    }]
  })
  tags = local.tags
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each   = local.has_own_role ? toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"]) : toset([])
  role       = aws_iam_role.this[0].name
  policy_arn = format("arn:%s:iam::aws:policy/%s", data.aws_partition.current.partition, each.key)
}

resource "aws_eks_access_entry" "this" {
  count         = local.has_own_role ? 1 : 0
  cluster_name  = var.cluster_name
  principal_arn = aws_iam_role.this[0].arn
  type          = "EC2_LINUX"
  tags          = local.tags
}

resource "aws_iam_instance_profile" "this" {
  name = local.own_name
  role = local.role
  tags = local.tags
}

resource "aws_instance" "this" {
  ami                         = var.image_id != null ? var.image_id : data.aws_ssm_parameter.image[0].value
  instance_type               = var.instance_type
  subnet_id                   = local.subnet
  vpc_security_group_ids      = local.security_groups
  iam_instance_profile        = aws_iam_instance_profile.this.name
  user_data_base64            = base64encode(var.user_data != "" ? var.user_data : local.own_user_data)
  user_data_replace_on_change = false
  tags                        = merge(local.tags, { Name = var.machine_name })
  volume_tags                 = local.tags

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 2
  }

  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    volume_size = 50
  }

  lifecycle {
    # A machine is replaced by another machine, never by a change of what it was made from.
    ignore_changes = [ami, user_data_base64, subnet_id]
    precondition {
      condition     = local.subnet != null
      error_message = "No subnet is in the requested zone: correct subnet_ids or the zone of the machine."
    }
  }

  depends_on = [aws_eks_access_entry.this, aws_iam_role_policy_attachment.this]
}

# The values of the outputs.
locals {
  instance_id = aws_instance.this.id
  provider_id = format("aws:///%s/%s", aws_instance.this.availability_zone, aws_instance.this.id)
  private_ip  = aws_instance.this.private_ip
  node_name   = aws_instance.this.private_dns
  zone        = aws_instance.this.availability_zone
}
