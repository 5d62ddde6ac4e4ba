# Where each fact about the cluster comes from: a value given here, then the states in S3, then a lookup by name.

data "aws_partition" "current" {}

data "aws_region" "current" {}

data "aws_caller_identity" "current" {}

data "terraform_remote_state" "eks" {
  count   = var.backend_s3_bucket_name != "" && var.eks_s3_key != "" ? 1 : 0
  backend = "s3"

  config = {
    bucket = var.backend_s3_bucket_name
    key    = var.eks_s3_key
    region = local.region
  }
}

data "terraform_remote_state" "network" {
  count   = var.backend_s3_bucket_name != "" && var.infra_network_s3_key != "" ? 1 : 0
  backend = "s3"

  config = {
    bucket = var.backend_s3_bucket_name
    key    = var.infra_network_s3_key
    region = local.region
  }
}

data "aws_eks_cluster" "this" {
  name = local.cluster_name

  lifecycle {
    precondition {
      condition     = local.cluster_name != ""
      error_message = "Give eks_cluster_name, or backend_s3_bucket_name with eks_s3_key."
    }
    postcondition {
      condition     = !try(self.compute_config[0].enabled, false)
      error_message = "This cluster runs EKS Auto Mode, which brings a Karpenter of its own: every node carries karpenter.sh/nodepool, so a second controller would stay Pending."
    }
  }
}

data "aws_iam_openid_connect_provider" "this" {
  count = var.identity == "irsa" ? 1 : 0
  arn   = local.cluster.oidc_provider_arn

  lifecycle {
    precondition {
      condition     = endswith(local.cluster.oidc_provider_arn, "oidc-provider/${local.cluster.issuer}")
      error_message = "eks_oidc_provider_arn and eks_oidc_provider_url speak of different providers."
    }
  }
}

locals {
  region  = var.region != "" ? var.region : data.aws_region.current.region
  account = data.aws_caller_identity.current.account_id

  default_tags = { for key, value in { project = var.project, env = var.env } : key => value if value != "" }

  eks_state     = try(data.terraform_remote_state.eks[0].outputs, {})
  network_state = try(data.terraform_remote_state.network[0].outputs, {})

  cluster_name = try(coalesce(
    var.eks_cluster_name,
    try(local.eks_state.eks_cluster_name, ""),
    try(local.eks_state.cluster_name, ""),
  ), "")

  issuer_url = try(coalesce(
    var.eks_oidc_provider_url,
    try(local.eks_state.eks_oidc_provider_url, ""),
    try(local.eks_state.cluster_oidc_issuer_url, ""),
    try(data.aws_eks_cluster.this.identity[0].oidc[0].issuer, ""),
  ), "")
  issuer = trimsuffix(trimprefix(local.issuer_url, "https://"), "/")

  cluster = {
    name    = local.cluster_name
    version = data.aws_eks_cluster.this.version
    issuer  = local.issuer

    endpoint = coalesce(
      var.eks_endpoint_url,
      try(local.eks_state.eks_endpoint_url, ""),
      try(local.eks_state.cluster_endpoint, ""),
      data.aws_eks_cluster.this.endpoint,
    )
    certificate_authority_data = coalesce(
      var.eks_cluster_certificate_authority_data,
      try(local.eks_state.eks_cluster_certificate_authority_data, ""),
      try(local.eks_state.cluster_certificate_authority_data, ""),
      data.aws_eks_cluster.this.certificate_authority[0].data,
    )
    oidc_provider_arn = coalesce(
      var.eks_oidc_provider_arn,
      try(local.eks_state.eks_oidc_provider_arn, ""),
      try(local.eks_state.oidc_provider_arn, ""),
      "arn:${data.aws_partition.current.partition}:iam::${local.account}:oidc-provider/${local.issuer}",
    )

    authentication_mode = try(data.aws_eks_cluster.this.access_config[0].authentication_mode, "CONFIG_MAP")
  }

  subnet_ids = toset(length(var.subnet_ids) > 0 ? var.subnet_ids : try(
    tolist(local.network_state.private_subnet_ids),
    tolist(local.network_state.private_subnets),
    tolist(data.aws_eks_cluster.this.vpc_config[0].subnet_ids),
  ))
  security_group_id = var.security_group_id != "" ? var.security_group_id : data.aws_eks_cluster.this.vpc_config[0].cluster_security_group_id
}
