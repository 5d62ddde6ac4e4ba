# The role of the nodes Karpenter makes.

data "aws_iam_roles" "spot" {
  count       = var.require_spot_role ? 1 : 0
  path_prefix = "/aws-service-role/spot.amazonaws.com/"
}

resource "aws_iam_role" "node" {
  name               = local.bounded.node_role
  assume_role_policy = templatefile("${path.module}/policies/node-trust.json.tftpl", { ec2_service = local.ec2_service })

  lifecycle {
    precondition {
      condition     = local.ec2_service != ""
      error_message = "The partition ${local.partition} lacks services that Karpenter needs, or is unknown; known are ${join(", ", keys(local.catalog.ec2_services))}."
    }
    precondition {
      condition     = !var.require_spot_role || length(try(data.aws_iam_roles.spot[0].names, [])) > 0
      error_message = "This account has no service-linked role for Spot. Create it once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com (or set require_spot_role = false for on-demand only)."
    }
  }
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each   = toset(local.catalog.node_policies)
  role       = aws_iam_role.node.name
  policy_arn = "arn:${local.partition}:iam::aws:policy/${each.value}"
}

resource "aws_iam_instance_profile" "node" {
  name = local.bounded.instance_profile
  role = aws_iam_role.node.name
}

# Nodes join by an access entry where the cluster reads them; update_aws_auth.tf is for the others.
resource "aws_eks_access_entry" "node" {
  count         = local.cluster.authentication_mode == "CONFIG_MAP" ? 0 : 1
  cluster_name  = local.cluster.name
  principal_arn = aws_iam_role.node.arn
  type          = "EC2_LINUX"
}
