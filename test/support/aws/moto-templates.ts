// WorkspaceTemplates in the place of the shipped ones, which need the AWS provider: they take the same variables, and make
// the cluster in moto. The API of every cluster is one endpoint.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { moduleText } from '../../../scripts/template-modules.ts'
import type { EksEndpoint } from './eks-endpoint.ts'
import type { Moto } from './moto.ts'

export const template = (name: string, module: string): object => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'WorkspaceTemplate',
  metadata: { name, namespace: 'default' },
  spec: { template: { spec: { forProvider: { source: 'Inline', inlineFormat: 'HCL', module } } } },
})

/** Declares every variable of a shipped template. */
export function variablesOf(shipped: string): string {
  const text = moduleText(shipped)
  const names = [...text.matchAll(/^variable "(\w+)"/gm)]
  return names.map(([, name]) => `variable "${name}" {\n  type    = any\n  default = null\n}\n`).join('')
}

/** Makes an EKS cluster in moto, and deletes it when it is destroyed. */
export function eksTemplate(moto: Moto, endpoint: EksEndpoint, name = 'moto-eks', more = ''): object {
  const script = readFileSync(join(import.meta.dirname, 'moto-eks.py'), 'utf8')
  const exec = (when: string, action: string) => `
  provisioner "local-exec" {
    ${when}
    interpreter = [${JSON.stringify(moto.python)}, "-c"]
    command     = self.input.script
    environment = { ACTION = "${action}", MOTO = self.input.moto, NAME = self.input.name, REGION = self.input.region, WANTED = self.input.wanted }
  }`
  return template(
    name,
    `${variablesOf('eks-controlplane')}${more}
resource "terraform_data" "eks" {
  input = {
    name   = var.cluster_name
    region = var.region
    moto   = ${JSON.stringify(moto.url)}
    script = base64decode("${Buffer.from(script).toString('base64')}")
    wanted = jsonencode({
      version = var.kubernetes_version
      subnets = try(tolist(var.private_subnets), [])
      addons  = try(keys(var.addons), [])
      access  = try(tolist(var.access), [])
    })
  }
${exec('', 'create')}
${exec('when = destroy', 'delete')}
}
output "cluster_name" { value = terraform_data.eks.output.name }
output "cluster_endpoint" { value = ${JSON.stringify(endpoint.url)} }
output "cluster_certificate_authority_data" { value = ${JSON.stringify(endpoint.caData)} }
`,
  )
}

export interface Network {
  readonly vpc: string
  readonly subnets: readonly string[]
}

/** Answers with a network that is there already. */
export const vpcTemplate = ({ vpc, subnets }: Network, name: string): object =>
  template(
    name,
    `${variablesOf('vpc')}
resource "terraform_data" "vpc" { input = var.cluster_name }
output "vpc_id" { value = ${JSON.stringify(vpc)} }
output "private_subnets" { value = ${JSON.stringify(subnets)} }
output "public_subnets" { value = [] }
`,
  )

/** A VPC with one subnet in moto. */
export async function makeNetwork(moto: Moto, region: string): Promise<Network> {
  const ec2 = (Action: string, more: Readonly<Record<string, string>>) =>
    moto.query('ec2', region, { Action, Version: '2016-11-15', ...more })
  const vpc = /<vpcId>([^<]+)</.exec(await ec2('CreateVpc', { CidrBlock: '10.0.0.0/16' }))![1]!
  const place = { VpcId: vpc, CidrBlock: '10.0.1.0/24', AvailabilityZone: `${region}a` }
  return { vpc, subnets: [/<subnetId>([^<]+)</.exec(await ec2('CreateSubnet', place))![1]!] }
}
