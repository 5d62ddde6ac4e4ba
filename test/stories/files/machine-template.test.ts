// The templates for machines: the real one and its simulated twin have the same inputs and outputs, and declare
// everything that the controller sends.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { CAPTMachine } from '#api'
import type { JsonObject } from '#lib'
import { moduleText as source, TEMPLATES } from '../../../scripts/template-modules.ts'
import { machineRequest } from '../../../src/controllers/machine/variables.ts'
import { findTool } from '../../support/tools.ts'

const FOLDERS = [TEMPLATES.machine.folder, TEMPLATES.simulatedMachine.folder] as const
const namesOf = (folder: string, block: string) =>
  [...source(folder).matchAll(new RegExp(`^${block} "(\\w+)"`, 'gm'))].map(([, name]) => name).toSorted()

const machine = {
  metadata: { name: 'm', namespace: 'default', uid: 'm' },
  spec: {
    workspaceTemplateRef: { name: 'machine' },
    instanceType: 'm7i.large',
    subnetIds: ['subnet-1'],
    securityGroupIds: ['sg-1'],
    nodeRoleName: 'nodes',
    imageId: 'ami-1',
    tags: { a: 'b' },
    drainTimeoutSeconds: 1,
  },
} as unknown as CAPTMachine

describe('the templates for machines', () => {
  for (const block of ['variable', 'output'])
    it(`have the same ${block}s in AWS and in simulation`, () =>
      assert.deepEqual(namesOf(FOLDERS[0], block), namesOf(FOLDERS[1], block)))

  it('declare everything that the controller sends', () => {
    const values = { assume_role_arn: 'arn', assume_role_external_id: 'id' }
    const home = { apply: 'eks', clusterName: 'demo', region: 'eu-west-1', values, credentials: {} }
    const { spec } = machineRequest(machine, {
      ...{ cluster: 'demo', home, nodeGroup: 'nodes', userDataSecret: 's', zone: 'a', version: '1.34' },
      labels: { c: 'd' },
    })
    const sent = [...Object.keys(spec.variables), ...Object.keys(spec.values), 'user_data'].toSorted()
    assert.deepEqual(sent, namesOf(FOLDERS[0], 'variable'))
  })

  it('make an access entry of type EC2_LINUX, an instance profile and user data for nodeadm', () => {
    const text = source(TEMPLATES.machine.folder)
    for (const part of ['aws_eks_access_entry', 'aws_iam_instance_profile', 'aws_instance'])
      assert.match(text, new RegExp(`^resource "${part}"`, 'm'))
    assert.match(text, /type\s+= "EC2_LINUX"/)
    assert.match(text, /node\.eks\.aws\/v1alpha1/)
  })

  it('never replace an instance because its image or user data changed', () =>
    assert.match(source(TEMPLATES.machine.folder), /ignore_changes = \[ami, user_data_base64, subnet_id\]/))

  const terraform = findTool('terraform')
  it('are formatted', { skip: terraform ? false : 'terraform is missing' }, () => {
    for (const folder of FOLDERS) execFileSync(terraform!, ['fmt', '-check', '-'], { input: source(folder) })
  })
})

/** A node group, as AWS would report it. */
const GROUP = {
  node_role_arn: 'arn:aws:iam::111122223333:role/nodes/workers',
  subnet_ids: ['subnet-b', 'subnet-a'],
  version: '1.33',
  labels: { team: 'a', 'node.kubernetes.io/role': 'x' },
}
const MACHINE: JsonObject = {
  cluster_name: 'demo',
  region: 'eu-west-1',
  machine_name: 'm',
  instance_type: 'm7i.large',
  user_data_secret: 's',
  found_groups: [],
  zones: { 'subnet-a': 'eu-west-1a', 'subnet-b': 'eu-west-1b' },
  architectures: ['x86_64'],
}

describe('to terraform, the template for machines', {
  skip: findTool('terraform') ? false : 'terraform is missing',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-machine-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const terraform = (...args: string[]) => {
    const env = { PATH: process.env['PATH'], HOME: folder, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1' }
    return execFileSync('terraform', args, { cwd: folder, encoding: 'utf8', env })
  }

  /** The locals of the template with what AWS reports as plain values; resources need the provider. */
  function locals(inputs: JsonObject): JsonObject {
    const text = source(TEMPLATES.machine.folder)
    const block = /^locals \{\n[\s\S]*?\n\}\n/m.exec(text)![0]
    const plain = block
      .replaceAll('one(data.aws_eks_node_group.this)', 'var.group')
      .replaceAll('data.aws_eks_cluster.this', 'local.eks')
      .replaceAll('data.aws_security_groups.nodes.ids', 'var.found_groups')
      .replaceAll('data.aws_ec2_instance_type.this.supported_architectures', 'var.architectures')
      .replaceAll('data.aws_subnet.candidate[id].availability_zone', 'var.zones[id]')
      .replaceAll('aws_iam_role.this[0].name', '"own"')
    assert.ok(!/data\.aws_/.test(plain), 'every value of AWS has a stand-in')
    const variables = [...text.matchAll(/^variable "\w+" \{\n[\s\S]*?\n\}\n/gm)].map(([one]) => one)
    const stands = ['group', 'found_groups', 'architectures', 'zones'].map(
      (name) => `variable "${name}" {\n  default = null\n}\n`,
    )
    const eks = `locals {
  eks = {
    version                   = "1.34"
    endpoint                  = "https://eks.test"
    certificate_authority     = [{ data = "Y2E=" }]
    vpc_config                = [{ cluster_security_group_id = "sg-cluster", vpc_id = "vpc-1" }]
    kubernetes_network_config = [{ service_ipv4_cidr = "172.20.0.0/16", service_ipv6_cidr = "" }]
  }
}\n`
    const shown = [
      'version',
      'architecture',
      'subnet',
      'security_groups',
      'has_own_role',
      'role',
      'tags',
      'node_config',
    ]
    const output = `output "seen" {\n  value = {\n${shown.map((name) => `    ${name} = local.${name}`).join('\n')}\n  }\n}\n`
    writeFileSync(join(folder, 'main.tf'), [...variables, ...stands, eks, plain, output].join('\n'))
    writeFileSync(join(folder, 'terraform.tfvars.json'), JSON.stringify({ ...MACHINE, ...inputs }))
    terraform('apply', '-auto-approve', '-input=false')
    return (JSON.parse(terraform('output', '-json')) as { seen: { value: JsonObject } }).seen.value
  }

  it('takes subnets, security group, role, version and labels from the node group', () => {
    const seen = locals({ node_group: 'workers', group: GROUP, found_groups: ['sg-nodes'], labels: { tier: 'web' } })
    assert.deepEqual([seen['security_groups'], seen['role'], seen['version']], [['sg-nodes'], 'workers', '1.33'])
    assert.equal(seen['has_own_role'], false)
    assert.ok(GROUP.subnet_ids.includes(String(seen['subnet'])))
    const { spec } = JSON.parse(String(seen['node_config']))
    assert.deepEqual(spec.kubelet.flags, ['--node-labels=team=a,tier=web'], 'none that a kubelet may not set')
    assert.deepEqual(spec.cluster, {
      name: 'demo',
      apiServerEndpoint: 'https://eks.test',
      certificateAuthority: 'Y2E=',
      cidr: '172.20.0.0/16',
    })
  })

  it('uses the security group of the cluster where its nodes have none of their own', () => {
    const seen = locals({ node_group: 'workers', group: GROUP })
    assert.deepEqual(seen['security_groups'], ['sg-cluster'])
  })

  it('prefers what the machine names, in its zone, and makes a role without a node group', () => {
    const seen = locals({
      subnet_ids: ['subnet-a', 'subnet-b'],
      security_group_ids: ['sg-own'],
      found_groups: ['sg-nodes'],
      zone: 'eu-west-1b',
      kubernetes_version: '1.32',
      architectures: ['arm64'],
      tags: { team: 'a' },
    })
    assert.deepEqual([seen['subnet'], seen['security_groups'], seen['version']], ['subnet-b', ['sg-own'], '1.32'])
    assert.deepEqual([seen['has_own_role'], seen['role'], seen['architecture']], [true, 'own', 'arm64'])
    assert.deepEqual(seen['tags'], { team: 'a', 'kubernetes.io/cluster/demo': 'owned' })
  })

  it('has no subnet for a zone without one', () =>
    assert.equal(locals({ subnet_ids: ['subnet-a'], zone: 'eu-west-1c' })['subnet'] ?? null, null))
})
