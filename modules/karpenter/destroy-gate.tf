# Goes first in a destroy and refuses while NodePools exist: their instances would go on running and billing, and once the
# node role is gone they would turn NotReady. KARPENTER_FORCE_DESTROY=true lists what is left behind and goes on.

resource "terraform_data" "destroy_gate" {
  input = {
    script       = "${path.module}/scripts/cluster.sh"
    cluster_name = local.cluster.name
    region       = local.region
    endpoint     = local.cluster.endpoint
    ca           = local.cluster.certificate_authority_data
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"$SCRIPT\" gate"
    environment = {
      SCRIPT       = self.input.script
      CLUSTER_NAME = self.input.cluster_name
      REGION       = self.input.region
      ENDPOINT     = self.input.endpoint
      CA_DATA      = self.input.ca
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
