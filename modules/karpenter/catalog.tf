# What capt knows about Karpenter by version, generated from its catalogue: versions.json and policies/.

locals {
  catalog = jsondecode(file("${path.module}/versions.json"))

  kubernetes = join(".", slice(split(".", local.cluster.version), 0, 2))
  chosen     = trimprefix(var.helm_chart_version != "" ? var.helm_chart_version : lookup(local.catalog.defaults, local.kubernetes, "0.0.0"), "v")

  # 1.14.1 becomes 1014001, so that versions compare as numbers.
  number = sum([for i, part in split(".", local.chosen) : tonumber(part) * pow(1000, 2 - i)])

  row = one([for row in local.catalog.karpenter : row if local.number >= row.from && local.number <= row.to])
  supported = local.row != null && (
    tonumber(split(".", local.kubernetes)[1]) >= try(local.row.kubernetes_min, 1000) &&
    tonumber(split(".", local.kubernetes)[1]) <= try(local.row.kubernetes_max, 0) &&
    !contains(local.catalog.avoid, local.chosen)
  )
  policy_file = reverse(concat([local.catalog.policies[0].file], [for era in local.catalog.policies : era.file if local.number >= era.from]))[0]

  event_rules = { for key, rule in local.catalog.event_rules : key => rule if var.interruption_queue && local.number >= rule.from }

  partition   = data.aws_partition.current.partition
  ec2_service = lookup(local.catalog.ec2_services, local.partition, "")
}
