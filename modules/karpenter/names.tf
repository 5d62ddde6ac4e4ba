# Names as the installation guide spells them. IAM takes 64 characters and EKS names may have 100: what is too long is cut
# and ends in a hash of the whole, the same one capt uses.

locals {
  letters = "bcdfghjklmnpqrstvwxz"

  wanted_names = {
    node_role         = { name = "KarpenterNodeRole-${local.cluster_name}", limit = 64 }
    instance_profile  = { name = "KarpenterNodeInstanceProfile-${local.cluster_name}", limit = 128 }
    controller_role   = { name = "KarpenterControllerRole-${local.cluster_name}", limit = 64 }
    controller_policy = { name = "KarpenterControllerPolicy-${local.cluster_name}", limit = 128 }
    queue             = { name = "Karpenter-${local.cluster_name}", limit = 80 }
  }

  wanted_rules = { for key, rule in local.event_rules : key => { name = "Karpenter-${key}-${local.cluster_name}", limit = 64 } }

  bounded = { for key, wanted in merge(local.wanted_names, local.wanted_rules) : key => (
    length(wanted.name) <= wanted.limit ? wanted.name : format(
      "%s-%s",
      replace(substr(wanted.name, 0, wanted.limit - 9), "/[-.]+$/", ""),
      join("", [for i in range(8) : substr(local.letters, parseint(substr(sha256(wanted.name), i * 2, 2), 16) % 20, 1)]),
    )
  ) }
}
