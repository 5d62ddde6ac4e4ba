# A VPC that exists only in Terraform's state: the same inputs and outputs as the vpc template, made of terraform_data.

locals {
  zones = [for letter in ["a", "b", "c"] : "${var.region}${letter}"]
  id    = substr(sha256("${var.cluster_name}/${var.vpc_name}"), 0, 8)
}

resource "terraform_data" "vpc" {
  input = {
    id   = "vpc-${local.id}"
    name = var.vpc_name
    cidr = var.vpc_cidr
    tags = var.tags
    role = [var.assume_role_arn, var.assume_role_external_id]
  }
}

resource "terraform_data" "internet_gateway" {
  input = { vpc = terraform_data.vpc.output.id }
}

resource "terraform_data" "private_subnet" {
  count = 3
  input = {
    id   = "subnet-${local.id}a${count.index}"
    vpc  = terraform_data.vpc.output.id
    cidr = cidrsubnet(var.vpc_cidr, 4, count.index)
    zone = local.zones[count.index]
    tags = { "kubernetes.io/role/internal-elb" = "1", "karpenter.sh/discovery" = var.cluster_name }
  }
}

resource "terraform_data" "public_subnet" {
  count = 3
  input = {
    id   = "subnet-${local.id}b${count.index}"
    vpc  = terraform_data.vpc.output.id
    cidr = cidrsubnet(var.vpc_cidr, 8, 48 + count.index)
    zone = local.zones[count.index]
    tags = { "kubernetes.io/role/elb" = "1" }
  }
}

resource "terraform_data" "nat_gateway" {
  count = var.single_nat_gateway ? 1 : 3
  input = { subnet = terraform_data.public_subnet[count.index].output.id }
}

# The values of the outputs.
locals {
  vpc_id          = terraform_data.vpc.output.id
  private_subnets = terraform_data.private_subnet[*].output.id
  public_subnets  = terraform_data.public_subnet[*].output.id
}
