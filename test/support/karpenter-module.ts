// What Terraform computes in modules/karpenter without a provider, by the real terraform.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const MODULE = join(import.meta.dirname, '../../modules/karpenter')
export const readModule = (name: string) => readFileSync(join(MODULE, name), 'utf8')

export const quietTerraform = () => ({
  ...process.env,
  TF_IN_AUTOMATION: '1',
  CHECKPOINT_DISABLE: '1',
  TF_CLI_CONFIG_FILE: '/dev/null',
})

/** Applies a scratch root made of the module's own locals, with AWS references replaced by texts; returns its outputs. */
export function evaluate(
  files: readonly string[],
  inputs: Record<string, unknown>,
  wanted: readonly string[],
  extra = '',
): Record<string, unknown> {
  const root = mkdtempSync(join(tmpdir(), 'capt-module-'))
  try {
    const locals = files.map((name) =>
      (/^locals \{\n[\s\S]*?^\}\n/m.exec(readModule(name)) ?? [''])[0]
        .replaceAll('data.aws_eks_cluster.this', 'local.looked_up')
        .replace(/data\.terraform_remote_state\.(\w+)\[0\]\.outputs/g, 'local.states.$1')
        .replace(/(?<!\w)(data\.)?aws_\w+\.\w+(\[0\])?\.\w+/g, (found) => JSON.stringify(found.split('.').at(-1))),
    )
    const outputs = wanted.map((name) => `output "${name.replace(/\W/g, '_')}" {\n  value = ${name}\n}\n`)
    writeFileSync(join(root, 'main.tf'), [...locals, ...outputs, extra].join('\n').replaceAll('${path.module}', MODULE))
    writeFileSync(join(root, 'variables.tf'), readModule('variables.tf'))
    writeFileSync(join(root, 'terraform.tfvars.json'), JSON.stringify(inputs))
    // Without providers and modules there is nothing to initialise; the outputs are in the state.
    const args = ['apply', '-input=false', '-auto-approve', '-no-color']
    execFileSync('terraform', args, { cwd: root, env: quietTerraform(), stdio: ['ignore', 'pipe', 'pipe'] })
    const state = JSON.parse(readFileSync(join(root, 'terraform.tfstate'), 'utf8')) as {
      outputs: Record<string, { value: unknown }>
    }
    return Object.fromEntries(Object.entries(state.outputs).map(([name, { value }]) => [name, value]))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Facts of a cluster, in place of what is looked up. */
export const clusterLocals = (name: string, version: string) =>
  `locals {\n  cluster_name = "${name}"\n  cluster = { name = "${name}", version = "${version}" }\n}\n`

export interface StubbedCluster {
  readonly version: string
  /** What the SSM parameter of the recommended image answers. */
  readonly release: string
  readonly subnets: Readonly<Record<string, { readonly availability_zone: string; readonly tags: object }>>
  /** The API of the cluster; a DELETE of /stub/NAME is sent there when what NAME stands for is destroyed. */
  readonly endpoint: string
}

/**
 * Writes a root of the module's own pool, gates and tags in which every AWS or Helm resource is a terraform_data. What is
 * left of each file is the module's text.
 */
export function writeStubbed(root: string, inputs: Record<string, unknown>, cluster: StubbedCluster): void {
  const stub = (name: string) =>
    `provisioner "local-exec" {\n    when = destroy\n    command = "curl -fsS -X DELETE ${cluster.endpoint}/stub/${name}"\n  }\n`
  const text = ['node-pool.tf', 'destroy-gate.tf', 'discovery.tf']
    .map(readModule)
    .join('\n')
    .replace(/^data "\w+" "\w+" \{\n[\s\S]*?^\}\n/gm, '')
    .replace(/^ {2}(name|chart|namespace) += .*\n/gm, '')
    .replace(/^ {2}(values) += /m, `  ${stub('node-pool')}\n  input = `)
    .replace(/^ {2}resource_id += (.*)\n {2}key += (.*)\n {2}value += (.*)$/gm, '  input = [$1, $2, $3]')
    .replace(/depends_on = \[\n {4}helm_release\.karpenter[\s\S]*?\]/, 'depends_on = [terraform_data.release]')
    .replace(/(resource )?"?helm_release"?([ .])"?node_pool"?/g, (_all, resource?: string) =>
      resource ? 'resource "terraform_data" "node_pool"' : 'terraform_data.node_pool',
    )
    .replace(/resource "aws_ec2_tag" "(\w+)"/g, 'resource "terraform_data" "$1_tag"')
    .replaceAll('data.aws_ssm_parameter.image[0].insecure_value', JSON.stringify(cluster.release))
    .replaceAll('data.aws_subnet.node', 'local.subnets')
    .replaceAll('data.aws_security_group.node[0].tags', '{}')
  const facts = { name: 'demo', version: cluster.version, endpoint: cluster.endpoint, certificate_authority_data: '' }
  const locals = `locals {
  cluster_name = "demo"
  region = "eu-west-1"
  security_group_id = "sg-1"
  cluster = jsondecode(${JSON.stringify(JSON.stringify(facts))})
  subnets = jsondecode(${JSON.stringify(JSON.stringify(cluster.subnets))})
  subnet_ids = toset(keys(local.subnets))
  kubernetes = local.cluster.version
  bounded = { instance_profile = "KarpenterNodeInstanceProfile-demo" }
}
resource "terraform_data" "release" {
  ${stub('release')}}
output "objects" {
  value = flatten([for values in try(terraform_data.node_pool[0].output, []) : yamldecode(values).objects])
}
`
  writeFileSync(join(root, 'main.tf'), `${text}\n${locals}`.replaceAll('${path.module}', MODULE))
  writeFileSync(join(root, 'variables.tf'), readModule('variables.tf'))
  writeFileSync(join(root, 'terraform.tfvars.json'), JSON.stringify(inputs))
}
