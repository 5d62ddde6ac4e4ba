# Inputs that every template has.

variable "cluster_name" {
  type        = string
  description = "Name of the cluster."
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
