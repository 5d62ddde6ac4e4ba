provider "aws" {
  region = var.region == "" ? null : var.region

  default_tags {
    tags = local.default_tags
  }
}

# A token read once dies after 15 minutes, in the middle of a long apply; the exec form signs a new one each time.
provider "helm" {
  kubernetes = {
    host                   = local.cluster.endpoint
    cluster_ca_certificate = base64decode(local.cluster.certificate_authority_data)
    token                  = var.eks_auth_token == "" ? null : var.eks_auth_token
    exec = var.eks_auth_token != "" ? null : {
      api_version = "client.authentication.k8s.io/v1beta1"
      command     = "aws"
      args        = ["--region", local.region, "eks", "get-token", "--cluster-name", local.cluster.name, "--output", "json"]
    }
  }
}
