# The chart, unless it is left to Flux. Helm merges the three documents in order: maps deeply, lists replaced. The last one
# holds the placement guard in every node-selector term, so nothing before it can take the guard away.

locals {
  service_account = "karpenter"
  release_name    = var.helm_release_name != "" ? var.helm_release_name : "karpenter"
  chart_name      = var.helm_chart_name != "" ? var.helm_chart_name : "karpenter"
  repository      = var.helm_repository_url != "" ? var.helm_repository_url : "oci://public.ecr.aws/karpenter"
  chart_version   = local.number >= 35000 ? local.chosen : "v${local.chosen}"

  own_values = merge(
    {
      replicas = var.replica_count
      serviceAccount = merge(
        { create = true, name = local.service_account },
        var.identity == "irsa" ? { annotations = { "eks.amazonaws.com/role-arn" = aws_iam_role.controller.arn } } : {},
      )
      controller = { resources = { requests = { cpu = "1", memory = "1Gi" }, limits = { cpu = "1", memory = "1Gi" } } }
      settings = merge(
        { clusterName = local.cluster.name },
        var.interruption_queue ? { interruptionQueue = aws_sqs_queue.interruption[0].name } : {},
      )
    },
    length(var.node_selector) > 0 ? { nodeSelector = var.node_selector } : {},
    length(var.tolerations) > 0 ? { tolerations = [for toleration in var.tolerations : { for key, value in toleration : key => value if value != null }] } : {},
    length(keys(var.affinity)) > 0 ? { affinity = var.affinity } : {},
  )

  guard = [for key in ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"] : { key = key, operator = "DoesNotExist" }]

  # Terms are ORed and an empty one matches nothing, so an empty one must not become a term that matches everything else.
  user_terms = try(
    var.karpenter_values.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms,
    var.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms,
    [{ matchExpressions = local.guard }],
  )
  useful_terms = [for term in local.user_terms : term if length(try(term.matchExpressions, [])) + length(try(term.matchFields, [])) > 0]
  possible_terms = [for term in local.useful_terms : term if length([
    for expression in try(term.matchExpressions, []) : expression
    if contains(["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"], expression.key) && contains(["In", "Exists", "Gt", "Lt"], expression.operator)
  ]) == 0]

  guard_values = { affinity = { nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms = [
    for term in local.possible_terms : merge(term, { matchExpressions = concat(
      [for expression in try(term.matchExpressions, []) : expression],
      [for expression in local.guard : expression if !contains([for own in try(term.matchExpressions, []) : "${own.key} ${own.operator}"], "${expression.key} ${expression.operator}")],
    ) })
  ] } } } }
}

resource "helm_release" "crds" {
  count            = var.install_chart && var.install_crds ? 1 : 0
  name             = "${local.release_name}-crd"
  repository       = local.repository
  chart            = "karpenter-crd"
  version          = local.chart_version
  namespace        = var.namespace
  create_namespace = var.create_namespace
  take_ownership   = var.take_ownership
}

resource "helm_release" "karpenter" {
  count            = var.install_chart ? 1 : 0
  name             = local.release_name
  repository       = local.repository
  chart            = local.chart_name
  version          = local.chart_version
  namespace        = var.namespace
  create_namespace = var.create_namespace
  take_ownership   = var.take_ownership
  skip_crds        = var.install_crds
  timeout          = 600
  values           = [yamlencode(local.own_values), yamlencode(var.karpenter_values), yamlencode(local.guard_values)]

  lifecycle {
    precondition {
      condition     = length(local.possible_terms) > 0
      error_message = "The affinity allows no node that Karpenter did not make. Select nodes of a managed node group, for example eks.amazonaws.com/nodegroup In [name]."
    }
    precondition {
      condition     = try(var.karpenter_values.settings.clusterName, local.cluster.name) == local.cluster.name
      error_message = "karpenter_values.settings.clusterName must be the cluster's name: the controller's permissions end there."
    }
    precondition {
      condition     = try(var.karpenter_values.serviceAccount.name, local.service_account) == local.service_account
      error_message = "karpenter_values.serviceAccount.name must stay ${local.service_account}: the role trusts no other."
    }
    precondition {
      condition     = !can(var.karpenter_values.serviceAccount.annotations["eks.amazonaws.com/role-arn"])
      error_message = "The role annotation follows from identity; remove it from karpenter_values."
    }
    precondition {
      condition     = !can(regex("/karpenter/karpenter$", local.repository))
      error_message = "helm_repository_url is the parent of the chart: oci://public.ecr.aws/karpenter."
    }
  }

  # Permissions and the way to join before the controller, and after it when everything goes.
  depends_on = [
    helm_release.crds,
    aws_iam_role_policy.controller,
    aws_iam_role_policy_attachment.node,
    aws_eks_access_entry.node,
    aws_eks_pod_identity_association.controller,
    aws_sqs_queue_policy.interruption,
    aws_cloudwatch_event_target.interruption,
    aws_ec2_tag.subnet,
    aws_ec2_tag.security_group,
    terraform_data.aws_auth,
  ]
}
