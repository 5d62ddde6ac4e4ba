# The network of one cluster: three zones, private subnets for nodes, public subnets for load balancers, NAT.

data "aws_availability_zones" "available" {
  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

# Chosen once, then kept: a zone that AWS opens is no change of this network.
resource "terraform_data" "zones" {
  input = slice(data.aws_availability_zones.available.names, 0, min(3, length(data.aws_availability_zones.available.names)))

  lifecycle {
    ignore_changes = [input]
  }
}

locals {
  zones = terraform_data.zones.input
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "6.6.0"

  name = var.vpc_name
  cidr = var.vpc_cidr
  azs  = local.zones

  private_subnets = [for index, _ in local.zones : cidrsubnet(var.vpc_cidr, 4, index)]
  public_subnets  = [for index, _ in local.zones : cidrsubnet(var.vpc_cidr, 8, 48 + index)]

  enable_nat_gateway     = true
  single_nat_gateway     = var.single_nat_gateway
  one_nat_gateway_per_az = !var.single_nat_gateway
  enable_dns_hostnames   = true
  enable_dns_support     = true

  public_subnet_tags = { "kubernetes.io/role/elb" = "1" }
  private_subnet_tags = {
    "kubernetes.io/role/internal-elb" = "1"
    "karpenter.sh/discovery"          = var.cluster_name
  }
  tags = var.tags
}

# The values of the outputs.
locals {
  vpc_id          = module.vpc.vpc_id
  private_subnets = module.vpc.private_subnets
  public_subnets  = module.vpc.public_subnets
}
