# A VPC that exists only in Terraform's state: the same inputs and outputs as the vpc template, made of terraform_data.

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
  description = "AWS region whose zones are imitated."
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
  description = "One NAT gateway for all zones."
  default     = true
}

variable "assume_role_arn" {
  type        = string
  description = "IAM role that would be assumed."
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

output "vpc_id" {
  description = "The VPC."
  value       = terraform_data.vpc.output.id
}

output "private_subnets" {
  description = "Subnets for the control plane and the nodes."
  value       = terraform_data.private_subnet[*].output.id
}

output "public_subnets" {
  description = "Subnets for load balancers that the internet reaches."
  value       = terraform_data.public_subnet[*].output.id
}

output "azs" {
  description = "Availability zones of the subnets."
  value       = local.zones
}
