# The role of the controller. Trust, annotation and association follow from the one variable `identity`.

resource "aws_iam_role" "controller" {
  name = local.bounded.controller_role
  assume_role_policy = var.identity == "irsa" ? templatefile("${path.module}/policies/controller-trust-irsa.json.tftpl", {
    oidc_provider_arn = data.aws_iam_openid_connect_provider.this[0].arn
    issuer            = local.cluster.issuer
    namespace         = var.namespace
    service_account   = local.service_account
    }) : templatefile("${path.module}/policies/controller-trust-pod-identity.json.tftpl", {
    cluster_arn = data.aws_eks_cluster.this.arn
    account_id  = local.account
  })

  lifecycle {
    precondition {
      condition     = local.supported
      error_message = "Karpenter ${local.chosen} must not run on Kubernetes ${local.kubernetes}. Leave helm_chart_version empty, or choose from docs/compatibility.md."
    }
  }
}

# Inline, as in the guide: joined, the statements are over the limit of a managed policy.
resource "aws_iam_role_policy" "controller" {
  name = local.bounded.controller_policy
  role = aws_iam_role.controller.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in jsondecode(templatefile("${path.module}/policies/${local.policy_file}", {
      partition     = local.partition
      region        = local.region
      account_id    = local.account
      cluster_name  = local.cluster.name
      node_role_arn = aws_iam_role.node.arn
      queue_arn     = var.interruption_queue ? aws_sqs_queue.interruption[0].arn : ""
    })).Statement : statement if(var.interruption_queue || statement.Sid != "AllowInterruptionQueueActions") && (var.zonal_shift || statement.Sid != "AllowZonalShiftStatusReadOnly")]
  })
}

resource "aws_eks_pod_identity_association" "controller" {
  count           = var.identity == "pod_identity" ? 1 : 0
  cluster_name    = local.cluster.name
  namespace       = var.namespace
  service_account = local.service_account
  role_arn        = aws_iam_role.controller.arn
}
