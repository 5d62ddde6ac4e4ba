# An EC2 instance that exists only in Terraform's state; its Node joins the simulated workload cluster.
# The same inputs and outputs as the machine template, made of terraform_data.

locals {
  id     = substr(replace(terraform_data.instance.id, "-", ""), 0, 17)
  octets = [for i in [0, 2, 4] : parseint(substr(local.id, i, 2), 16)]
  zone   = coalesce(var.zone, format("%s%s", var.region, element(["a", "b", "c"], parseint(substr(sha256(var.machine_name), 0, 6), 16))))
}

resource "terraform_data" "instance_profile" {
  input = {
    name = var.machine_name
    role = coalesce(var.node_role_name, var.node_group, var.machine_name)
  }
}

resource "terraform_data" "access_entry" {
  count = var.node_role_name == null && var.node_group == null ? 1 : 0
  input = { cluster = var.cluster_name, principal = terraform_data.instance_profile.output.role, type = "EC2_LINUX" }
}

resource "terraform_data" "instance" {
  input = {
    profile         = terraform_data.instance_profile.output.name
    security_groups = var.security_group_ids
    labels          = var.labels
    tags            = merge(var.tags, { Name = var.machine_name })
    caller          = [var.assume_role_arn, var.assume_role_external_id]
  }
  # As with EC2: what an instance was made from cannot change without another instance.
  triggers_replace = [var.instance_type]

  depends_on = [terraform_data.access_entry]
}

# The user data and the image that the instance started with.
resource "terraform_data" "start" {
  input = {
    image_id  = coalesce(var.image_id, "ami-simulated")
    subnets   = var.subnet_ids
    secret    = var.user_data_secret
    user_data = sha256(var.user_data)
    version   = var.kubernetes_version
  }
}

# The values of the outputs.
locals {
  instance_id = format("i-%s", local.id)
  provider_id = format("aws:///%s/i-%s", local.zone, local.id)
  private_ip  = format("10.%d.%d.%d", local.octets[0], local.octets[1], local.octets[2])
  node_name   = format("ip-10-%d-%d-%d.%s.compute.internal", local.octets[0], local.octets[1], local.octets[2], var.region)
}
