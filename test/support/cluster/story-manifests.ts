// What a person writes in the stories: two small templates whose provisioners keep a ledger of what Terraform makes and
// destroys, and clusters made of them.
import { stringify } from 'yaml'
import { CAPTCluster, CAPTControlPlane, WorkspaceTemplate } from '#api'

/** Without a ledger nothing is run: the simulated engine runs no provisioners. */
const provisioners = (what: string, ledger: string | undefined): string =>
  ledger === undefined
    ? ''
    : `
  provisioner "local-exec" {
    command = "echo create ${what} \${self.input.name} >> ${ledger}"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo destroy ${what} \${self.input.name} >> ${ledger}"
  }`

const vpcModule = (ledger: string | undefined): string => `
variable "cluster_name" { type = string }
variable "region" { type = string }
variable "vpc_name" { type = string }
variable "tags" {
  type    = map(string)
  default = {}
  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "aws:")])
    error_message = "No tag may begin with aws: because AWS keeps those for itself."
  }
}

resource "terraform_data" "vpc" {
  input = { name = var.vpc_name, tags = var.tags }
${provisioners('vpc', ledger)}
}

output "vpc_id" { value = "vpc-0\${substr(sha256(var.vpc_name), 0, 8)}" }
output "private_subnets" { value = ["subnet-a", "subnet-b"] }
output "public_subnets" { value = ["subnet-c"] }
output "azs" { value = ["\${var.region}a", "\${var.region}b"] }
`

const eksModule = (ledger: string | undefined): string => `
variable "cluster_name" { type = string }
variable "kubernetes_version" { type = string }
variable "vpc_id" { type = string }
variable "private_subnets" {
  type    = list(string)
  default = []
}
variable "workload_endpoint" { type = string }
variable "workload_ca" { type = string }
variable "workload_token" {
  type      = string
  sensitive = true
}

resource "terraform_data" "cluster" {
  input = { name = var.cluster_name, version = var.kubernetes_version, vpc = var.vpc_id, subnets = var.private_subnets }
${provisioners('cluster', ledger)}
}

output "cluster_name" { value = var.cluster_name }
output "cluster_version" { value = terraform_data.cluster.output.version }
output "cluster_endpoint" { value = var.workload_endpoint }
output "cluster_certificate_authority_data" { value = base64encode(var.workload_ca) }
output "kubeconfig" {
  sensitive = true
  value = jsonencode({
    apiVersion        = "v1"
    kind              = "Config"
    "current-context" = "workload"
    clusters          = [{ name = "workload", cluster = { server = var.workload_endpoint, "certificate-authority-data" = base64encode(var.workload_ca) } }]
    contexts          = [{ name = "workload", context = { cluster = "workload", user = "capt" } }]
    users             = [{ name = "capt", user = { token = var.workload_token } }]
  })
}
`

export interface Workload {
  readonly url: string
  readonly caPem: string
  readonly token: string
}

/** The address of the workload API comes from the home's own Secret, or from here when it is somebody else's API. */
function workloadInputs(workload: Workload | undefined): object {
  const { url, caPem, token } = workload ?? {}
  const input = (name: string, key: string, value: string | undefined) => ({
    name: `TF_VAR_workload_${name}`,
    ...(value === undefined ? { secretKeyRef: { name: '${cluster_name}-simulated-workload', key } } : { value }),
  })
  return { env: [input('endpoint', 'endpoint', url), input('ca', 'ca', caPem), input('token', 'token', token)] }
}

function template(name: string, module: string, more: object = {}): object {
  return {
    apiVersion: WorkspaceTemplate.apiVersion,
    kind: WorkspaceTemplate.kind,
    metadata: { name },
    spec: { template: { spec: { forProvider: { source: 'Inline', module, ...more } } } },
  }
}

export function storyTemplates(ledger: string | undefined, workload?: Workload): string {
  return documents(
    template('story-vpc', vpcModule(ledger)),
    template('story-eks', eksModule(ledger), workloadInputs(workload)),
  )
}

export interface ClusterOptions {
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly infra?: object
  readonly plane?: object
}

export function storyCluster(name: string, options: ClusterOptions = {}): string {
  const metadata = { name, ...(options.namespace ? { namespace: options.namespace } : {}) }
  const labels = options.labels ?? { 'capt.appthrust.com/simulation': 'workload' }
  return documents(
    {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { ...metadata, labels },
      spec: {
        infrastructureRef: { apiGroup: CAPTCluster.group, kind: CAPTCluster.kind, name },
        controlPlaneRef: { apiGroup: CAPTControlPlane.group, kind: CAPTControlPlane.kind, name },
      },
    },
    {
      apiVersion: CAPTCluster.apiVersion,
      kind: CAPTCluster.kind,
      metadata,
      spec: { region: 'eu-west-1', ...(options.infra ?? { vpcTemplateRef: { name: 'story-vpc' } }) },
    },
    {
      apiVersion: CAPTControlPlane.apiVersion,
      kind: CAPTControlPlane.kind,
      metadata,
      spec: { version: '1.34', workspaceTemplateRef: { name: 'story-eks' }, ...options.plane },
    },
  )
}

const documents = (...objects: readonly object[]): string => objects.map((object) => stringify(object)).join('---\n')
