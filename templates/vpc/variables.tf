# Inputs of a network, in AWS and in simulation.

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
