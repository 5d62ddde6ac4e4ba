# The network of one cluster: three zones, private subnets for nodes, public subnets for load balancers, NAT.

terraform {
  required_version = ">= 1.5.7"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.28"
    }
  }
}

provider "aws" {
  region = var.region

  dynamic "assume_role" {
    for_each = var.assume_role_arn == null ? [] : [var.assume_role_arn]
    content {
      role_arn    = assume_role.value
      external_id = var.assume_role_external_id
    }
  }
}

variable "cluster_name" {
  type        = string
  description = "Cluster that the network is for."
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, hyphens or underscores and start with a letter or digit."
  }
}

variable "region" {
  type        = string
  description = "AWS region."
  validation {
    condition     = can(regex("^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$", var.region))
    error_message = "region must be an AWS region such as eu-west-1."
  }
}

variable "vpc_name" {
  type        = string
  description = "Name of the VPC."
}

variable "vpc_cidr" {
  type        = string
  description = "Address block of the VPC."
  default     = "10.0.0.0/16"
  validation {
    condition     = can(cidrnetmask(var.vpc_cidr)) && try(tonumber(split("/", var.vpc_cidr)[1]) >= 16 && tonumber(split("/", var.vpc_cidr)[1]) <= 20, false)
    error_message = "vpc_cidr must be an IPv4 block of /16 to /20: it is split into three private and three public subnets."
  }
}

variable "single_nat_gateway" {
  type        = bool
  description = "One NAT gateway for all zones instead of one per zone."
  default     = true
}

variable "assume_role_arn" {
  type        = string
  description = "IAM role to assume; the credentials of the run itself when left out."
  default     = null
}

variable "assume_role_external_id" {
  type        = string
  description = "External id that the role asks for."
  default     = null
}

variable "tags" {
  type        = map(string)
  description = "Tags of everything that is made."
  default     = {}
}

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

output "vpc_id" {
  description = "The VPC."
  value       = module.vpc.vpc_id
}

output "private_subnets" {
  description = "Subnets for the control plane and the nodes."
  value       = module.vpc.private_subnets
}

output "public_subnets" {
  description = "Subnets for load balancers that the internet reaches."
  value       = module.vpc.public_subnets
}

output "azs" {
  description = "Availability zones of the subnets."
  value       = local.zones
}
