# Goes first in a destroy and refuses while NodePools exist: their instances would go on running and billing, and once the
# node role is gone they would turn NotReady. KARPENTER_FORCE_DESTROY=true lists what is left behind and goes on.
# The module's own pool does not hold it: that goes next, and the second gate waits for its machines before Karpenter goes.

locals {
  gate_input = {
    script       = "${path.module}/scripts/cluster.sh"
    cluster_name = local.cluster.name
    region       = local.region
    endpoint     = local.cluster.endpoint
    ca           = local.cluster.certificate_authority_data
    own_pool     = var.default_node_pool ? var.node_pool.name : ""
  }
}

resource "terraform_data" "destroy_gate" {
  input = local.gate_input

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"$SCRIPT\" gate"
    environment = {
      SCRIPT       = self.input.script
      CLUSTER_NAME = self.input.cluster_name
      REGION       = self.input.region
      ENDPOINT     = self.input.endpoint
      CA_DATA      = self.input.ca
      OWN_POOL     = try(self.input.own_pool, "")
    }
  }

  depends_on = [helm_release.node_pool, terraform_data.drained]
}

# Without a pool of its own the module has nothing to wait for; then this only keeps the order.
resource "terraform_data" "drained" {
  input = merge(local.gate_input, { drain_seconds = var.default_node_pool ? var.drain_timeout : 0 })

  provisioner "local-exec" {
    when    = destroy
    command = self.input.own_pool == "" ? "true" : "sh \"$SCRIPT\" drained"
    environment = {
      SCRIPT        = self.input.script
      CLUSTER_NAME  = self.input.cluster_name
      REGION        = self.input.region
      ENDPOINT      = self.input.endpoint
      CA_DATA       = self.input.ca
      OWN_POOL      = self.input.own_pool
      DRAIN_SECONDS = self.input.drain_seconds
    }
  }

  depends_on = [
    helm_release.karpenter,
    helm_release.crds,
    aws_iam_role_policy.controller,
    aws_iam_role_policy_attachment.node,
    aws_iam_instance_profile.node,
    aws_eks_access_entry.node,
    aws_eks_pod_identity_association.controller,
    aws_sqs_queue_policy.interruption,
    aws_cloudwatch_event_target.interruption,
    aws_ec2_tag.subnet,
    aws_ec2_tag.security_group,
    terraform_data.aws_auth,
  ]
}
