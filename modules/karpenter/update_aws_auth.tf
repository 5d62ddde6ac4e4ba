# Lets nodes join clusters that read only the aws-auth ConfigMap: one entry is added to mapRoles and taken out again, under
# optimistic locking, and every other entry stays byte for byte. Needs curl and the aws command, or a token in KUBE_TOKEN. The
# token of eks_auth_token adds the entry; Terraform gives a destroy nothing but what is in the state, where a token does not belong.

resource "terraform_data" "aws_auth" {
  count = local.cluster.authentication_mode == "CONFIG_MAP" ? 1 : 0

  triggers_replace = [local.cluster.name, aws_iam_role.node.arn]
  input = {
    script       = "${path.module}/scripts/cluster.sh"
    cluster_name = local.cluster.name
    region       = local.region
    endpoint     = local.cluster.endpoint
    ca           = local.cluster.certificate_authority_data
    role_arn     = aws_iam_role.node.arn
  }

  provisioner "local-exec" {
    command = "sh \"$SCRIPT\" aws-auth-add"
    environment = {
      SCRIPT       = self.input.script
      CLUSTER_NAME = self.input.cluster_name
      REGION       = self.input.region
      ENDPOINT     = self.input.endpoint
      CA_DATA      = self.input.ca
      ROLE_ARN     = self.input.role_arn
      AUTH_TOKEN   = var.eks_auth_token
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"$SCRIPT\" aws-auth-remove"
    environment = {
      SCRIPT       = self.input.script
      CLUSTER_NAME = self.input.cluster_name
      REGION       = self.input.region
      ENDPOINT     = self.input.endpoint
      CA_DATA      = self.input.ca
      ROLE_ARN     = self.input.role_arn
    }
  }
}
