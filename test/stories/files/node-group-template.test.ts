// The templates of node groups: the one for AWS held to what AWS takes, its simulated twin held to it, both held to
// terraform itself where it is installed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { JsonObject } from '#lib'
import { moduleText as source, TEMPLATES } from '../../../scripts/template-modules.ts'
import { type Block, scanHcl } from '../../../src/engine/render/hcl.ts'
import { findTool } from '../../support/tools.ts'

const AWS = TEMPLATES.nodeGroup.folder
const TWIN = TEMPLATES.simulatedNodeGroup.folder
const named = (folder: string, type: string): ReadonlyMap<string, Block['attributes']> =>
  new Map(
    scanHcl(source(folder))
      .blocks.filter((block) => block.type === type)
      .map(({ labels, attributes }) => [labels[0]!, attributes]),
  )
const variablesOf = (folder: string): string => {
  const text = source(folder)
  return [...text.matchAll(/^variable "\w+" \{\n[\s\S]*?\n\}\n/gm)].map(([block]) => block).join('\n')
}

describe('the template of node groups', () => {
  it('has a twin with the same inputs, defaults and checks, and the same outputs', () => {
    assert.equal(variablesOf(TWIN), variablesOf(AWS))
    assert.deepEqual([...named(TWIN, 'output').keys()], [...named(AWS, 'output').keys()])
    const made = scanHcl(source(TWIN)).blocks.filter(({ type }) => ['resource', 'data', 'module'].includes(type))
    assert.ok(made.every(({ labels }) => labels[0] === 'terraform_data'))
  })

  it('can be part of what clusterctl substitutes and of what kubectl applies', () => {
    assert.ok(!source(AWS).includes('${'))
  })

  it('explains every input and output', () => {
    for (const folder of [AWS, TWIN])
      for (const type of ['variable', 'output'])
        for (const [name, { description }] of named(folder, type)) assert.match(description ?? '', /^".+\."$/, name)
  })

  it('makes nodes that join: role, policies first, and the security group of the other nodes', () => {
    const text = source(AWS)
    for (const policy of ['AmazonEKSWorkerNodePolicy', 'AmazonEKS_CNI_Policy', 'AmazonEC2ContainerRegistryPullOnly'])
      assert.ok(text.includes(`"${policy}"`), policy)
    assert.match(text, /depends_on = \[aws_iam_role_policy_attachment\.node\]/)
    assert.match(text, /vpc_security_group_ids = local\.security_groups/)
    assert.match(text, /tag:karpenter\.sh\/discovery/)
    assert.match(text, /http_tokens += "required"/)
  })

  it('has a successor before a group that must be replaced goes', () => {
    const group = /resource "aws_eks_node_group" "this" \{\n[\s\S]*?\n\}/.exec(source(AWS))![0]
    assert.match(group, /node_group_name_prefix = local\.group_prefix/)
    assert.match(group, /create_before_destroy = true/)
  })

  it('rolls launch template changes inside EKS, and pins no image that AWS replaces', () => {
    const text = source(AWS)
    assert.match(text, /version = aws_launch_template\.node\.latest_version/)
    assert.ok(!/most_recent|release_version|image_id/.test(text))
  })
})

/** What AWS takes. A name of IAM that is a prefix leaves 26 of its 64 characters to Terraform. */
const LONGEST_PREFIX = 38

describe('to terraform, the template of node groups', {
  skip: findTool('terraform') ? false : 'terraform is not installed',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-node-group-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  const terraform = (args: readonly string[], input?: string) => {
    const env = { PATH: process.env['PATH'], HOME: folder, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1' }
    const { status, stdout, stderr } = spawnSync('terraform', args, { cwd: folder, encoding: 'utf8', env, input })
    assert.equal(status, 0, `${stdout}${stderr}`)
    return stdout
  }

  it('is formatted', () => {
    for (const one of [AWS, TWIN]) {
      writeFileSync(join(folder, 'main.tf'), source(one))
      terraform(['fmt', '-check', '-diff', 'main.tf'])
    }
  })

  /** The locals of the template with data of AWS as plain values; resources need the provider. */
  function locals(cases: Readonly<Record<string, JsonObject>>): Record<string, JsonObject> {
    const block = /^locals \{\n[\s\S]*?\n\}\n/m.exec(source(AWS))![0]
    const plain = block
      .replaceAll('data.aws_subnets.private[*].ids', '[["subnet-found"]]')
      .replaceAll('data.aws_security_groups.nodes.ids', '["sg-1"]')
      .replaceAll('data.aws_eks_node_groups.all.names', 'var.groups')
      .replaceAll('data.aws_eks_node_group.made[0].scaling_config[0].desired_size', 'var.found_size')
    const module =
      `${variablesOf(AWS)}\nvariable "found_size" {\n  type    = number\n  default = null\n}\nvariable "groups" {\n  type    = set(string)\n  default = []\n}\n${plain}
output "seen" {
  value = {
    prefix       = local.prefix
    made         = local.made
    subnets      = local.subnets
    desired_size = local.desired_size
    unavailable  = local.unavailable
    percentage   = local.percentage
    disk         = local.disk
  }
}\n`.replace('try(var.found_size, var.desired_size)', 'coalesce(var.found_size, var.desired_size)')
    spawnSync('mkdir', ['-p', join(folder, 'module')])
    writeFileSync(join(folder, 'module', 'main.tf'), module)
    const calls = Object.entries(cases).map(
      ([name, inputs]) =>
        `module "${name}" {\n  source = "./module"\n${Object.entries({ ...GOOD, ...inputs })
          .map(([key, value]) => `  ${key} = jsondecode(${JSON.stringify(JSON.stringify(value))})`)
          .join('\n')}\n}\noutput "${name}" { value = module.${name}.seen }\n`,
    )
    writeFileSync(join(folder, 'main.tf'), calls.join('\n'))
    terraform(['init', '-input=false'])
    terraform(['apply', '-auto-approve', '-input=false'])
    const outputs = JSON.parse(terraform(['output', '-json'])) as Record<string, { value: JsonObject }>
    return Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, value]))
  }

  const GOOD: JsonObject = {
    cluster_name: 'demo',
    node_group_name: 'workers',
    kubernetes_version: '1.35',
    region: 'eu-west-1',
    vpc_id: 'vpc-1',
  }

  it('keeps names within the limits, and different for every group', () => {
    const name = 'cluster-'.repeat(13)
    const lengths = [4, 20, 29, 30, 63, 100]
    const cases = lengths.flatMap((length) =>
      ['x', 'y'].map((last): [string, JsonObject] => [
        `of_${length}_${last}`,
        { cluster_name: `${name.slice(0, length - 1)}z`, node_group_name: `${name.slice(0, 35)}${last}` },
      ]),
    )
    const seen = locals({ ...Object.fromEntries(cases), plain: {} })
    const prefixes = Object.values(seen).map(({ prefix }) => String(prefix))
    for (const prefix of prefixes) assert.ok(prefix.length <= LONGEST_PREFIX && prefix.endsWith('-'), prefix)
    assert.equal(new Set(prefixes).size, prefixes.length, 'two groups share a prefix')
    assert.equal(seen['plain']!['prefix'], 'demo-workers-')
  })

  it('follows the table of sizes, subnets, disks and update bounds', () => {
    const seen = locals({
      defaults: {},
      sized: { min_size: 1, max_size: 5, desired_size: 3, found_size: 4 },
      autoscaled: { min_size: 1, max_size: 5, desired_size: 3, autoscaled: true, found_size: 4 },
      autoscaled_new: { min_size: 1, max_size: 5, desired_size: 3, autoscaled: true },
      autoscaled_above: { min_size: 1, max_size: 5, desired_size: 3, autoscaled: true, found_size: 9 },
      number: { max_unavailable: 2 },
      percent: { max_unavailable_percentage: 25 },
      found: { groups: ['workers', 'workers-b-20260101000000000000000001', 'workers-20260101000000000000000001'] },
      own: { subnets: ['subnet-own'], ami_type: 'BOTTLEROCKET_x86_64' },
    })
    const field = (name: string) => Object.fromEntries(Object.entries(seen).map(([key, value]) => [key, value[name]]))
    const { sized, autoscaled, autoscaled_new, autoscaled_above } = field('desired_size')
    assert.deepEqual([sized, autoscaled, autoscaled_new, autoscaled_above], [3, 4, 3, 5])
    assert.deepEqual([seen['defaults']!['made'], seen['found']!['made']], [[], ['workers-20260101000000000000000001']])
    assert.deepEqual([seen['defaults']!['unavailable'], seen['number']!['unavailable']], [1, 2])
    assert.deepEqual([seen['percent']!['unavailable'] ?? null, seen['percent']!['percentage']], [null, 25])
    assert.deepEqual([seen['defaults']!['subnets'], seen['own']!['subnets']], [['subnet-found'], ['subnet-own']])
    assert.deepEqual([seen['defaults']!['disk'], seen['own']!['disk']], ['/dev/xvda', '/dev/xvdb'])
  })
})
