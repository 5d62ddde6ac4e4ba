// The templates that capt ships: held to the modules they pin, to their simulated twins, to terraform itself where it is
// installed, and to the schema of our kinds.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { parseAllDocuments } from 'yaml'
import {
  ALL_KINDS,
  type CAPTCluster,
  type CAPTControlPlane,
  checkObject,
  type JsonSchema,
  type UnknownObject,
} from '#api'
import { isPlainObject, type JsonObject } from '#lib'
import { clusterClass } from '../../../scripts/cluster-class.ts'
import { moduleText as source, TEMPLATES } from '../../../scripts/template-modules.ts'
import { clusterClassText, flavourTexts, simulationExample } from '../../../scripts/templates.ts'
import { vpcRequest } from '../../../src/controllers/cluster/variables.ts'
import { eksRequest, networkOf } from '../../../src/controllers/control-plane/variables.ts'
import { type Block, scanHcl } from '../../../src/engine/render/hcl.ts'
import { wholeClusterSpec, wholePlaneSpec } from '../../support/cluster/field-rows.ts'
import { findTool } from '../../support/tools.ts'

const TEMPLATE_FOLDER = join(import.meta.dirname, '../../../templates')
const AWS = [TEMPLATES.vpc.folder, TEMPLATES.eks.folder] as const
const TWINS = [
  [TEMPLATES.vpc.folder, TEMPLATES.simulatedVpc.folder],
  [TEMPLATES.eks.folder, TEMPLATES.simulatedEks.folder],
] as const
const ALL = TWINS.flat()

interface Module {
  readonly version: string
  readonly inputs: readonly string[]
  /** Without them the cluster comes up and does not work. */
  readonly needed: readonly string[]
  readonly outputs: readonly string[]
}

/** The pinned modules: the inputs and outputs that matter to us, as their own variables.tf and outputs.tf have them. */
const MODULES: Readonly<Record<string, Module>> = {
  'terraform-aws-modules/vpc/aws': {
    version: '6.6.0',
    inputs: [
      ...['name', 'cidr', 'azs', 'private_subnets', 'public_subnets', 'intra_subnets', 'enable_nat_gateway'],
      ...['single_nat_gateway', 'one_nat_gateway_per_az', 'enable_dns_hostnames', 'enable_dns_support'],
      ...['public_subnet_tags', 'private_subnet_tags', 'tags'],
    ],
    needed: ['name', 'cidr', 'azs', 'private_subnets', 'public_subnets', 'enable_nat_gateway', 'private_subnet_tags'],
    outputs: [
      'vpc_id',
      'vpc_cidr_block',
      'private_subnets',
      'public_subnets',
      'intra_subnets',
      'azs',
      'nat_public_ips',
    ],
  },
  'terraform-aws-modules/eks/aws': {
    version: '21.19.0',
    inputs: [
      ...['name', 'kubernetes_version', 'vpc_id', 'subnet_ids', 'control_plane_subnet_ids', 'endpoint_public_access'],
      ...['endpoint_private_access', 'endpoint_public_access_cidrs', 'authentication_mode', 'access_entries'],
      ...['enable_cluster_creator_admin_permissions', 'kms_key_administrators', 'addons', 'eks_managed_node_groups'],
      'node_security_group_tags',
      ...['enable_irsa', 'upgrade_policy', 'encryption_config', 'tags', 'iam_role_name', 'cluster_tags'],
      ...['compute_config', 'node_iam_role_name', 'node_iam_role_use_name_prefix'],
    ],
    needed: [
      ...['name', 'kubernetes_version', 'vpc_id', 'subnet_ids', 'endpoint_public_access', 'addons'],
      ...['access_entries', 'iam_role_name', 'eks_managed_node_groups', 'node_security_group_tags'],
    ],
    outputs: [
      ...['cluster_name', 'cluster_arn', 'cluster_endpoint', 'cluster_certificate_authority_data', 'cluster_version'],
      ...[
        'cluster_platform_version',
        'cluster_status',
        'cluster_oidc_issuer_url',
        'oidc_provider',
        'oidc_provider_arn',
      ],
      ...['cluster_primary_security_group_id', 'cluster_security_group_id', 'node_security_group_id'],
      ...['cluster_iam_role_arn', 'cluster_service_cidr', 'eks_managed_node_groups', 'access_entries'],
      'node_iam_role_name',
    ],
  },
  'terraform-aws-modules/eks/aws//modules/karpenter': {
    version: '21.19.0',
    inputs: [
      ...['create', 'cluster_name', 'region', 'namespace', 'service_account', 'create_pod_identity_association'],
      ...['enable_inline_policy', 'enable_spot_termination', 'queue_name', 'node_iam_role_name'],
      ...['node_iam_role_use_name_prefix', 'node_iam_role_additional_policies', 'create_node_iam_role'],
      ...['node_iam_role_arn', 'create_access_entry', 'create_instance_profile', 'access_entry_type'],
      ...['cluster_ip_family', 'ami_id_ssm_parameter_arns', 'iam_role_source_assume_policy_documents'],
      ...['iam_role_override_assume_policy_documents', 'iam_policy_statements', 'tags'],
    ],
    needed: [
      'cluster_name',
      'namespace',
      'create_pod_identity_association',
      'enable_inline_policy',
      'node_iam_role_name',
      'queue_name',
    ],
    outputs: [
      ...['iam_role_arn', 'iam_role_name', 'node_iam_role_arn', 'node_iam_role_name', 'queue_name', 'queue_arn'],
      ...['queue_url', 'event_rules', 'namespace', 'service_account', 'node_access_entry_arn'],
    ],
  },
}

/** Outputs that are no text. */
const SHAPES: Readonly<Record<string, string>> = {
  eks_managed_node_groups: '{ controllers = { node_group_id = "demo:controllers-1" } }',
}

const LAPTOP = 'arn:aws:iam::111122223333:role/laptop'
const MANAGER = 'arn:aws:iam::111122223333:role/manager'

const blocksOf = (folder: string): readonly Block[] => scanHcl(source(folder)).blocks
const named = (folder: string, type: string): ReadonlyMap<string, Block['attributes']> =>
  new Map(
    blocksOf(folder)
      .filter((block) => block.type === type)
      .map(({ labels, attributes }) => [labels[0]!, attributes]),
  )
const unquote = (text = ''): string => text.replace(/^"|"$/g, '')

/** The text of one validation block, or nothing. */
function validationOf(folder: string, variable: string): { condition: string; message: string } | undefined {
  const block = new RegExp(`variable "${variable}" \\{[\\s\\S]*?\\n\\}\\n`).exec(source(folder))![0]
  const found = /validation \{\n +condition += (.*)\n +error_message = "(.*)"\n/.exec(block)
  return found ? { condition: found[1]!, message: found[2]! } : undefined
}

describe('templates for AWS', () => {
  for (const folder of AWS) {
    it(`${folder}: pins its modules exactly and gives them only inputs they have`, () => {
      const modules = named(folder, 'module')
      assert.ok(modules.size > 0)
      for (const [name, { source: address, version, ...inputs }] of modules) {
        const module = MODULES[unquote(address)] ?? assert.fail(`${name} has an unknown source ${address}`)
        assert.equal(unquote(version), module.version, name)
        const strange = Object.keys(inputs).filter((input) => !module.inputs.includes(input))
        assert.deepEqual(strange, [], `add ${strange} to MODULES[${address}].inputs if the pinned module has it`)
        assert.deepEqual(
          module.needed.filter((input) => inputs[input] === undefined),
          [],
          `module ${name} needs it`,
        )
      }
    })

    it(`${folder}: reads only outputs that its modules have`, () => {
      const modules = named(folder, 'module')
      const references = [...source(folder).matchAll(/\bmodule\.(\w+)\.(\w+)/g)]
      assert.ok(references.length > 0)
      for (const [reference, name, output] of references) {
        const module = MODULES[unquote(modules.get(name!)?.['source'])]
        assert.ok(
          module?.outputs.includes(output!),
          `${reference}: add ${output} to MODULES[…].outputs if the pinned module has it`,
        )
      }
    })

    it(`${folder}: can be part of what clusterctl substitutes and of what kubectl applies`, () => {
      // clusterctl reads ${…} everywhere and Terraform reads $${…} as text, so a file for both has neither.
      assert.ok(!source(folder).includes('${'))
    })

    it(`${folder}: assumes the role of the cluster's identity`, () => {
      assert.match(source(folder), /dynamic "assume_role" \{\n +for_each = var\.assume_role_arn == null \? \[\] : /)
      assert.match(source(folder), /external_id = var\.assume_role_external_id/)
    })
  }

  it('plan nothing new when AWS publishes a newer add-on or image', () => {
    const text = source(TEMPLATES.eks.folder)
    const block = (head: string) => new RegExp(`\\n${head} \\{\\n([\\s\\S]*?)\\n\\}`).exec(text)?.[1] ?? ''
    const pin = block('resource "terraform_data" "addon_version"')
    assert.match(pin, /input += each\.value\.version/)
    assert.match(pin, /triggers_replace = \[var\.kubernetes_version\]/, 'an upgrade chooses again')
    assert.match(pin, /ignore_changes = \[input\]/, 'what was chosen is kept')
    assert.match(text, /addon_version = version == null \? terraform_data\.addon_version\[name\]\.output : version/)
    const image = block('resource "terraform_data" "node_image"')
    assert.match(image, /triggers_replace = \[var\.kubernetes_version\]/)
    assert.match(image, /ignore_changes = \[input\]/)
    assert.match(block('module "eks"'), /use_latest_ami_release_version = false/)
    const floating = Object.values(TEMPLATES).flatMap(({ folder }) =>
      [...source(folder).matchAll(/most_recent += true/g)].map(() => folder),
    )
    assert.deepEqual(floating, [TEMPLATES.eks.folder], 'only the choice itself asks for the newest')
  })

  /** Applies a part of a template with each of these values in turn; answers with the output `pinned` after each. */
  function pinnedBy(config: string, runs: readonly Readonly<Record<string, string>>[]): readonly string[] {
    const folder = mkdtempSync(join(tmpdir(), 'capt-pin-'))
    const options = { cwd: folder, env: { ...process.env, CHECKPOINT_DISABLE: '1' }, stdio: 'pipe' } as const
    try {
      writeFileSync(join(folder, 'main.tf'), config)
      return runs.map((values) => {
        const given = Object.entries(values).map(([name, value]) => `-var=${name}=${value}`)
        execFileSync('terraform', ['apply', '-auto-approve', '-input=false', ...given], options)
        return execFileSync('terraform', ['output', '-raw', 'pinned'], options).toString()
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const skip = findTool('terraform') ? false : 'terraform is not installed'

  it('choose an add-on version once and again with the Kubernetes version', { skip }, () => {
    const pin = /resource "terraform_data" "addon_version" \{[\s\S]*?\n\}/.exec(source(TEMPLATES.eks.folder))![0]
    const given = `variable "kubernetes_version" {}\nvariable "newest" {}\noutput "pinned" { value = terraform_data.addon_version["x"].output }\n`
    const fixed = pin.replace('data.aws_eks_addon_version.newest', '{ x = { version = var.newest } }')
    const run = (kubernetes_version: string, newest: string) => ({ kubernetes_version, newest })
    const runs = [run('1.33', 'v1'), run('1.33', 'v2'), run('1.34', 'v3')]
    assert.deepEqual(pinnedBy(`${given}${fixed}\n`, runs), ['v1', 'v1', 'v3'])
  })

  it('choose the image of the nodes once and again with the Kubernetes version', { skip }, () => {
    const pin = /resource "terraform_data" "node_image" \{[\s\S]*?\n\}/.exec(source(TEMPLATES.eks.folder))![0]
    const given = `variable "auto_mode" { default = false }\nvariable "kubernetes_version" {}\nvariable "newest" {}\noutput "pinned" { value = terraform_data.node_image[0].output }\n`
    const fixed = pin.replace('data.aws_ssm_parameter.node_image[0].insecure_value', 'var.newest')
    const run = (kubernetes_version: string, newest: string) => ({ kubernetes_version, newest })
    const runs = [run('1.33', '1.33.1-20261002'), run('1.33', '1.33.2-20261102'), run('1.34', '1.34.1-20261102')]
    assert.deepEqual(pinnedBy(`${given}${fixed}\n`, runs), ['al2023@v20261002', 'al2023@v20261002', 'al2023@v20261102'])
  })

  it('keep the zones of a network when AWS opens another', { skip }, () => {
    const pin = /resource "terraform_data" "zones" \{[\s\S]*?\n\}\n\nlocals \{[\s\S]*?\n\}/.exec(
      source(TEMPLATES.vpc.folder),
    )![0]
    const given = `variable "open" { type = list(string) }\noutput "pinned" { value = join(" ", [for index, zone in local.zones : "\${index}\${zone}"]) }\n`
    const fixed = pin.replaceAll('data.aws_availability_zones.available.names', 'var.open')
    const runs = [{ open: '["b","c","d","e"]' }, { open: '["a","b","c","d"]' }]
    assert.deepEqual(pinnedBy(`${given}${fixed}\n`, runs), ['0b 1c 2d', '0b 1c 2d'])
  })

  it('make nodes that become Ready, on which Flux and Karpenter can start', () => {
    const text = source(TEMPLATES.eks.folder)
    for (const addon of ['coredns', 'kube-proxy', 'vpc-cni', 'eks-pod-identity-agent'])
      assert.match(text, new RegExp(`needed .*\\b${addon} = `), addon)
    assert.match(text, /vpc-cni = \{ before_compute = true \}/)
    assert.match(text, /labels += \{ "karpenter.sh\/controller" = "true" \}/)
    assert.match(text, /enable_inline_policy += true/, 'the policy is too large for a managed one')
    assert.match(source(TEMPLATES.vpc.folder), /enable_nat_gateway += true/, 'private nodes pull images through NAT')
  })
})

describe('what controllers send', () => {
  const subnets = { private: ['subnet-1'], public: ['subnet-2'] }
  const metadata = { name: 'demo', namespace: 'default' }
  const infra = {
    metadata,
    spec: wholeClusterSpec(),
    status: { vpcId: 'vpc-1', privateSubnets: subnets.private, publicSubnets: subnets.public },
  } as unknown as CAPTCluster
  const plane = { metadata, spec: wholePlaneSpec() } as unknown as CAPTControlPlane
  const sent = {
    vpc: vpcRequest(infra, 'demo', 'demo')!.spec.values,
    eks: eksRequest(plane, 'demo', networkOf(infra, 'demo'), 'eu-west-1').spec.values,
  }
  for (const [folder, values] of [
    [TEMPLATES.vpc.folder, sent.vpc],
    [TEMPLATES.simulatedVpc.folder, sent.vpc],
    [TEMPLATES.eks.folder, sent.eks],
    [TEMPLATES.simulatedEks.folder, sent.eks],
  ] as const)
    it(`${folder}: declares every value that its controller sends`, () => {
      const declared = named(folder, 'variable')
      assert.deepEqual(
        Object.keys(values ?? {}).filter((name) => !declared.has(name)),
        [],
      )
      assert.ok(Object.keys(values ?? {}).length >= 4)
    })

  for (const folder of AWS)
    it(`${folder}: uses every input that it declares`, () => {
      const text = source(folder)
      const unused = [...named(folder, 'variable').keys()].filter(
        (name) => !new RegExp(`\\bvar\\.${name}\\b`).test(text),
      )
      assert.deepEqual(unused, [], 'a field that sets it would have no effect')
    })
})

describe('simulated templates', () => {
  const ONLY = { aws: /^bootstrap_/, simulation: /^workload_/ }
  const without = (names: Iterable<string>, left: RegExp) => [...names].filter((name) => !left.test(name)).sort()

  for (const [aws, simulation] of TWINS) {
    it(`${simulation}: has the inputs of ${aws}, of the same type, with the same default and the same check`, () => {
      const real = named(aws, 'variable')
      const twin = named(simulation, 'variable')
      const names = without(real.keys(), ONLY.aws)
      assert.deepEqual(without(twin.keys(), ONLY.simulation), names)
      for (const name of names) {
        const facts = ({ type, default: fallback }: Block['attributes'] = {}) => [type, fallback]
        assert.deepEqual(facts(twin.get(name)), facts(real.get(name)), name)
        assert.deepEqual(validationOf(simulation, name), validationOf(aws, name), name)
      }
    })

    it(`${simulation}: has the outputs of ${aws}`, () => {
      // The kubeconfig of the simulated workload comes from its workload_ inputs; EKS has none to give.
      const outputs = [...named(simulation, 'output').keys()].filter((name) => name !== 'kubeconfig')
      assert.deepEqual(outputs.sort(), [...named(aws, 'output').keys()].sort())
    })

    it(`${simulation}: makes nothing but terraform_data`, () => {
      const made = blocksOf(simulation).filter(({ type }) => ['resource', 'data', 'module', 'provider'].includes(type))
      assert.ok(
        made.length > 0 && made.every(({ type, labels }) => type === 'resource' && labels[0] === 'terraform_data'),
      )
    })
  }

  for (const folder of ALL) {
    it(`${folder}: explains every input and output`, () => {
      for (const type of ['variable', 'output'])
        for (const [name, { description }] of named(folder, type)) assert.match(description ?? '', /^".+\."$/, name)
    })
  }
})

const hasTerraform = findTool('terraform') !== undefined
const isHere = (t: TestContext): boolean => {
  if (!hasTerraform) t.skip('only what can be read from the files was checked: terraform is not installed')
  return hasTerraform
}

describe('to terraform, the templates', () => {
  let temporary: string
  before(() => {
    temporary = mkdtempSync(join(tmpdir(), 'capt-templates-'))
  })
  after(() => rmSync(temporary, { recursive: true, force: true }))

  function terraform(cwd: string, ...args: readonly string[]) {
    const { status, stdout, stderr } = spawnSync('terraform', args, {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: temporary, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1' },
    })
    return { status, text: `${stdout}${stderr}` }
  }

  /** A folder that is initialised; modules are replaced by their table, data of AWS by plain values. */
  function workspace(folder: string): string {
    const dir = join(temporary, folder)
    const put = (path: string, text: string) => {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    }
    put('main.tf', (AWS as readonly string[]).includes(folder) ? withoutAws(source(folder)) : source(folder))
    for (const [i, { inputs, outputs }] of Object.values(MODULES).entries()) {
      put(`module-${i}/inputs.tf`, inputs.map((name) => `variable "${name}" { default = null }\n`).join(''))
      // What the module is given can be read back from the plan.
      const given = inputs.map((name) => `${name} = var.${name}`).join('\n')
      put(`module-${i}/main.tf`, `resource "terraform_data" "inputs" {\n  input = {\n${given}\n  }\n}\n`)
      const textOf = (name: string) => SHAPES[name] ?? JSON.stringify(name)
      put(`module-${i}/outputs.tf`, outputs.map((name) => `output "${name}" {\nvalue = ${textOf(name)}\n}\n`).join(''))
    }
    const init = terraform(dir, 'init', '-input=false', '-no-color')
    assert.equal(init.status, 0, init.text)
    return dir
  }

  function withoutAws(text: string): string {
    const modules = Object.keys(MODULES).map((address, i) => [
      new RegExp(`source += "${address}"\\n +version += ".*"`),
      `source = "./module-${i}"`,
    ])
    const data = [
      [/^terraform \{\n[\s\S]*?\n\}\n/m, ''],
      [/^provider "aws" \{\n[\s\S]*?\n\}\n/m, ''],
      [/^data "aws_partition" "current" \{\}\n/m, ''],
      [/^data "aws_\w+" "\w+" \{\n[\s\S]*?\n\}\n/gm, ''],
      [/data\.aws_availability_zones\.available\.names/g, '["eu-west-1a", "eu-west-1b", "eu-west-1c", "eu-west-1d"]'],
      [/data\.aws_subnets\.private\[\*\]\.ids/g, '[["subnet-1"]]'],
      [/data\.aws_iam_policy_document\.irsa\.json/g, '"{}"'],
      [/data\.aws_partition\.current\.partition/g, '"aws"'],
      [/^data "aws_caller_identity" "current" \{\}\n/m, ''],
      [/^data "aws_eks_clusters" "all" \{\}\n/m, ''],
      [/data\.aws_eks_cluster\.made\[0\]\.tags/g, 'var.made_tags'],
      [/data\.aws_iam_session_context\.caller\.issuer_arn/g, 'var.caller'],
      [
        /data\.aws_eks_addon_version\.newest/g,
        '{ for name, version in local.chosen : name => { version = "v0" } if version == null }',
      ],
      [/data\.aws_ssm_parameter\.node_image\[0\]\.insecure_value/g, '"1.35.2-20261102"'],
      [/data\.aws_iam_roles\.taken\[0\]\.names/g, 'var.taken'],
      [/data\.aws_caller_identity\.current\.account_id/g, '"111122223333"'],
    ]
    const bare = [...modules, ...data].reduce(
      (text, [from, to]) => text.replace(from as RegExp, () => to as string),
      text,
    )
    return `${bare}\nvariable "caller" { default = "${LAPTOP}" }\nvariable "taken" {\n  type = set(string)\n  default = []\n}\nvariable "made_tags" {\n  type = map(string)\n  default = {}\n}\n`
  }

  /** The inputs of each module in a plan of the EKS template, by the name of the module. */
  function inputsOf(values: Readonly<Record<string, string>>): Record<string, JsonObject> {
    const folder = TEMPLATES.eks.folder
    const dir = workspace(folder)
    const all = { ...GOOD, ...values }
    const own = ['caller', 'made_tags', 'taken']
      .filter((name) => name in values)
      .map((name) => `-var=${name}=${values[name]}`)
    const plan = terraform(
      dir,
      'plan',
      '-input=false',
      '-no-color',
      '-lock=false',
      '-out=p',
      ...flags(folder, all),
      ...own,
    )
    assert.equal(plan.status, 0, plan.text)
    const shown = terraform(dir, 'show', '-json', 'p')
    const { planned_values } = JSON.parse(shown.text.slice(shown.text.indexOf('{'))) as {
      planned_values: {
        root_module: { child_modules: { address: string; resources: { values: { input: JsonObject } }[] }[] }
      }
    }
    return Object.fromEntries(
      planned_values.root_module.child_modules.map(({ address, resources }) => [
        address.replace('module.', ''),
        resources[0]!.values.input,
      ]),
    )
  }

  /** What AWS takes, as the pinned modules use it: a name of IAM that is a prefix leaves 26 of its 64 characters. */
  const LIMITS = [
    ['eks', 'iam_role_name', 38 - 1, (cluster: string) => `${cluster}-cluster`],
    ['karpenter', 'node_iam_role_name', 64, (cluster: string) => `Karpenter-${cluster}`],
    ['karpenter', 'queue_name', 80, (cluster: string) => `Karpenter-${cluster}`],
  ] as const

  for (const length of [4, 29, 30, 46, 47, 70, 71, 100])
    it(`name everything within its limits for a cluster name of ${length} characters`, (t) => {
      if (!isHere(t)) return
      const name = 'cluster-'.repeat(13).slice(0, length - 1)
      const names = ['x', 'y'].map((last) => {
        const inputs = inputsOf({ cluster_name: `${name}${last}` })
        return LIMITS.map(([module, input, limit, ofModule]) => {
          const value = String(inputs[module]![input] ?? ofModule(`${name}${last}`))
          assert.ok(value.length <= limit, `${module}.${input} is ${value}`)
          return value
        })
      })
      for (const [i, value] of names[0]!.entries()) assert.notEqual(value, names[1]![i], 'two clusters share a name')
      if (length <= 29) assert.equal(names[0]![0], `${name}x-cluster`, 'roles that exist keep their names')
    })

  it('give access to the principal that made the cluster, also when another one applies later', (t) => {
    if (!isHere(t)) return
    const access = JSON.stringify([
      { principal_arn: MANAGER, policies: [{ name: 'AmazonEKSClusterAdminPolicy' }] },
      { principal_arn: LAPTOP, policies: [{ name: 'AmazonEKSClusterAdminPolicy' }] },
    ])
    const first = inputsOf({ access })['eks']!
    assert.notEqual(first['enable_cluster_creator_admin_permissions'], true)
    const entries = first['access_entries'] as Record<string, { principal_arn: string }>
    assert.deepEqual(
      Object.entries(entries).map(([key, { principal_arn }]) => [key, principal_arn]),
      [
        [MANAGER, MANAGER],
        ['cluster_creator', LAPTOP],
      ],
      'one entry for each principal',
    )
    assert.deepEqual(first['kms_key_administrators'], [LAPTOP], 'left out, the module names the caller')
    const tags = first['cluster_tags'] as Record<string, string>
    const moved = inputsOf({ access, caller: MANAGER, made_tags: JSON.stringify(tags) })['eks']!
    assert.deepEqual(moved, first, 'a move to another identity plans nothing')
  })

  it('give the node role a name of its own where the account has one of that name, and keep it', (t) => {
    if (!isHere(t)) return
    const roleOf = (values: Readonly<Record<string, string>>) => inputsOf(values)['karpenter']!['node_iam_role_name']
    const taken = '["KarpenterNodeRole-demo"]'
    assert.equal(roleOf({}), 'KarpenterNodeRole-demo')
    const other = roleOf({ taken, region: 'eu-west-1' })
    assert.match(String(other), /^KarpenterNodeRole-demo-[0-9a-f]{8}$/)
    assert.notEqual(roleOf({ taken, region: 'eu-west-2' }), other, 'each region has its own')
    const long = String(roleOf({ cluster_name: 'x'.repeat(100), taken }))
    assert.ok(long.length <= 64, long)
    const tags = inputsOf({ taken, region: 'eu-west-1' })['eks']!['cluster_tags']
    assert.equal(roleOf({ made_tags: JSON.stringify(tags) }), other, 'the cluster remembers the name')
    assert.equal(
      roleOf({ made_tags: '{"Name":"demo"}' }),
      'KarpenterNodeRole-demo',
      'a cluster of before keeps its own',
    )
  })

  it('give Karpenter its subnets by id: those of an existing VPC carry no tag of capt', (t) => {
    if (!isHere(t)) return
    const folder = TEMPLATES.eks.folder
    const dir = workspace(folder)
    const values = flags(folder, { ...GOOD, private_subnets: '["subnet-7"]' })
    const applied = terraform(dir, 'apply', '-auto-approve', '-input=false', '-no-color', '-state=e', ...values)
    assert.equal(applied.status, 0, applied.text)
    const { subnet_ids } = JSON.parse(terraform(dir, 'output', '-state=e', '-json', 'karpenter').text) as JsonObject
    assert.deepEqual(subnet_ids, ['subnet-7'])
  })

  it('leave nodes, add-ons and Karpenter to EKS in Auto Mode, and change nothing without it', (t) => {
    if (!isHere(t)) return
    const { eks, karpenter } = inputsOf({ auto_mode: 'true', addons: '{}' })
    assert.deepEqual(
      [eks!['compute_config'], eks!['eks_managed_node_groups'], eks!['addons'], karpenter!['create']],
      [{ enabled: true, node_pools: ['general-purpose', 'system'] }, {}, {}, false],
    )
    assert.equal(eks!['node_iam_role_name'], 'AutoModeNodeRole-demo')
    const plain = inputsOf({})
    assert.deepEqual([plain['eks']!['compute_config'] ?? null, plain['karpenter']!['create']], [null, true])
    const groups = plain['eks']!['eks_managed_node_groups'] as Readonly<Record<string, JsonObject>>
    assert.deepEqual(
      Object.entries(groups).map(([key, { name, iam_role_name }]) => [key, name, iam_role_name]),
      [['controllers', 'controllers', 'controllers-eks-node-group']],
    )
  })

  it('make no node group for controllers when a pool has taken its place', (t) => {
    if (!isHere(t)) return
    const { eks, karpenter } = inputsOf({ bootstrap_size: '0' })
    assert.deepEqual([eks!['eks_managed_node_groups'], karpenter!['create']], [{}, true])
  })

  it('make another node group for controllers when their number changes, with the role of the first', (t) => {
    if (!isHere(t)) return
    const { eks } = inputsOf({ bootstrap_size: '3' })
    const { controllers } = eks!['eks_managed_node_groups'] as Readonly<Record<string, JsonObject>>
    // A new name replaces the group. The module would ignore the new number of nodes, and EKS refuse the new bounds.
    assert.deepEqual(
      ['name', 'min_size', 'desired_size', 'iam_role_name'].map((input) => controllers![input]),
      ['controllers-3', 3, 3, 'controllers-eks-node-group'],
    )
  })

  it('are formatted', (t) => {
    if (!isHere(t)) return
    const { status, text } = terraform(TEMPLATE_FOLDER, 'fmt', '-check', '-recursive', '-diff', '-no-color')
    assert.equal(status, 0, text)
  })

  const GOOD: Readonly<Record<string, string>> = {
    cluster_name: 'demo',
    region: 'us-gov-west-1',
    vpc_name: 'demo-vpc',
    vpc_cidr: '10.1.0.0/20',
    kubernetes_version: '1.35',
    vpc_id: 'vpc-1',
    private_subnets: '["subnet-1"]',
    endpoint_public_access_cidrs: '["203.0.113.0/24", "2001:db8::/32"]',
    addons: '{"coredns":{"version":"v1.2.3"},"aws-ebs-csi-driver":{"configuration_values":"{}"}}',
    identity: 'irsa',
    assume_role_arn: 'arn:aws:iam::123456789012:role/capt',
    workload_endpoint: 'https://127.0.0.1:1',
    workload_ca: 'pem',
    workload_token: 'token',
  }
  /** One wrong value for each check that a template makes; a check without one fails the test. */
  const WRONG: Readonly<Record<string, readonly string[]>> = {
    cluster_name: ['', '-demo', 'a b'],
    region: ['mars', 'eu-west', 'EU-WEST-1'],
    vpc_cidr: ['10.0.0.0/8', '10.0.0.0/24', 'many', '10.0.0.0', '2001:db8::/20'],
    kubernetes_version: ['v1.35', '1.35.0', 'latest'],
    vpc_id: ['subnet-1'],
    private_subnets: ['["vpc-1"]'],
    public_subnets: ['["vpc-1"]'],
    access: ['[{"principal_arn":"arn:aws:sts::111122223333:assumed-role/laptop/session"}]'],
    endpoint_public_access_cidrs: ['["everybody"]'],
    identity: ['password'],
    bootstrap_size: ['-1'],
  }
  const flags = (folder: string, values: Readonly<Record<string, string>>) =>
    [...named(folder, 'variable').keys()].filter((name) => name in values).map((name) => `-var=${name}=${values[name]}`)

  for (const folder of ALL) {
    it(`${folder}: is valid, and a plan with right values works`, (t) => {
      if (!isHere(t)) return
      const dir = workspace(folder)
      const valid = terraform(dir, 'validate', '-no-color')
      assert.equal(valid.status, 0, valid.text)
      const plan = terraform(dir, 'plan', '-input=false', '-no-color', '-lock=false', ...flags(folder, GOOD))
      assert.equal(plan.status, 0, plan.text)
    })

    it(`${folder}: refuses each wrong value and says what would be right`, (t) => {
      const checked = [...named(folder, 'variable').keys()].filter((name) => validationOf(folder, name))
      assert.ok(checked.length > 0)
      const untried = checked.filter((name) => !WRONG[name])
      assert.deepEqual(untried, [], `add a wrong value for ${untried} to WRONG`)
      if (!isHere(t)) return
      const dir = workspace(folder)
      // All wrong values of a round go into one plan: terraform names every one of them.
      const rounds = Math.max(...checked.map((name) => WRONG[name]!.length))
      for (let round = 0; round < rounds; round++) {
        const bad = checked.filter((name) => WRONG[name]![round] !== undefined)
        const values = { ...GOOD, ...Object.fromEntries(bad.map((name) => [name, WRONG[name]![round]!])) }
        const plan = terraform(dir, 'plan', '-input=false', '-no-color', '-lock=false', ...flags(folder, values))
        assert.equal(plan.status, 1)
        const said = plan.text.replace(/\s*\n[│\s]*/g, ' ')
        for (const name of bad)
          assert.ok(said.includes(validationOf(folder, name)!.message), `${name}=${WRONG[name]![round]}:\n${plan.text}`)
      }
    })
  }
})

const VALUES: Readonly<Record<string, string>> = {
  CLUSTER_NAME: 'demo',
  NAMESPACE: 'default',
  AWS_REGION: 'eu-west-1',
  KUBERNETES_VERSION: 'v1.35.0',
  EXISTING_VPC_ID: 'vpc-0123',
}

/** What clusterctl does: values, defaults (also nested), and two dollars for one. */
function substitute(text: string): string {
  const value = /(?<!\$)\$\{([A-Z_]+)(?::=((?:[^{}]|\$\{[A-Z_]+\})*))?\}/g
  return text
    .replace(
      value,
      (whole, name: string, fallback: string | undefined) =>
        VALUES[name] ?? (fallback && substitute(fallback)) ?? assert.fail(`${whole} has no value`),
    )
    .replaceAll('$${', () => '${')
}
const manifests = (text: string): UnknownObject[] => parseAllDocuments(text).map((one) => one.toJS() as UnknownObject)
const ofKind = (objects: readonly UnknownObject[], kind: string) => objects.filter((object) => object.kind === kind)

describe('cluster templates', () => {
  for (const [name, text] of flavourTexts()) {
    it(`${name}: every object of ours fits its schema`, () => {
      const objects = manifests(substitute(text))
      const ours = objects.flatMap((object) =>
        ALL_KINDS.filter(({ kind }) => kind === object.kind).map((kind) => ({ kind, object })),
      )
      for (const { kind, object } of ours) assert.deepEqual(checkObject(kind, object).faults, [])
      assert.equal(ofKind(objects, 'Cluster').length, 1)
    })

    it(`${name}: everything is in the namespace that was asked for`, () => {
      for (const { kind, metadata } of manifests(substitute(text))) assert.equal(metadata.namespace, 'default', kind)
    })
  }

  it('leave Terraform text as it is', () => {
    const generated = manifests(substitute(flavourTexts().get('cluster-template-simulation.yaml')!))
    assert.deepEqual(
      ofKind(generated, 'WorkspaceTemplate').map(specOf),
      ofKind(simulationExample() as unknown as UnknownObject[], 'WorkspaceTemplate').map(specOf),
    )
  })

  it('ask for what their name says', () => {
    const of = (flavour: string) => manifests(substitute(flavourTexts().get(`cluster-template${flavour}.yaml`)!))
    const labels = (flavour: string) => ofKind(of(flavour), 'Cluster')[0]!.metadata.labels ?? {}
    assert.deepEqual(labels(''), { 'fluxcd.io/enabled': 'true' })
    assert.equal(labels('-karpenter')['installation.appthrust.com/eks-karpenter'], 'enabled')
    assert.equal(specOf(ofKind(of('-existing-vpc'), 'CAPTCluster')[0]!)['existingVpcId'], 'vpc-0123')
    assert.equal((specOf(ofKind(of('-topology'), 'Cluster')[0]!)['topology'] as JsonObject)['class'], 'capt')
  })
})

function specOf(object: UnknownObject): JsonObject {
  return object['spec'] as JsonObject
}

describe('the ClusterClass', () => {
  const [definition, ...templates] = clusterClass() as unknown as UnknownObject[]
  const { variables, patches } = specOf(definition!) as unknown as {
    variables: { name: string; required: boolean; schema: { openAPIV3Schema: JsonSchema } }[]
    patches: {
      name: string
      enabledIf?: string
      definitions: {
        selector: { kind: string }
        jsonPatches: { op: string; path: string; valueFrom?: { variable?: string; template?: string } }[]
      }[]
    }[]
  }
  const written = patches.flatMap(({ definitions }) =>
    definitions.flatMap(({ selector, jsonPatches }) => jsonPatches.map((patch) => ({ kind: selector.kind, ...patch }))),
  )

  it('uses every variable, and only variables it has', () => {
    const used = new Set(
      [
        ...written.map(({ valueFrom }) => valueFrom?.variable ?? valueFrom?.template ?? ''),
        ...patches.map(({ enabledIf }) => enabledIf ?? ''),
      ].flatMap((text) =>
        /^[\w.]+$/.test(text) ? [text.split('.')[0]!] : [...text.matchAll(/[\s(]\.(\w+)/g)].map((match) => match[1]!),
      ),
    )
    used.delete('builtin')
    assert.deepEqual([...used].sort(), variables.map(({ name }) => name).sort())
  })

  it('explains every variable, and asks for the region alone', () => {
    for (const { name, schema } of variables) assert.match(schema.openAPIV3Schema.description ?? '', /\.$/, name)
    assert.deepEqual(
      variables.filter(({ required }) => required).map(({ name }) => name),
      ['region'],
    )
  })

  it('patches fields that the templates have', () => {
    for (const { kind: word, path } of written) {
      const kind = ALL_KINDS.find(({ kind }) => kind === word)!
      const found = path
        .split('/')
        .slice(1)
        .reduce<JsonSchema | undefined>((schema, field) => schema?.properties?.[field], kind.schema)
      assert.ok(found, `${word} has no ${path}`)
    }
  })

  it('comes with templates that fit their schema', () => {
    assert.equal(templates.length, 5)
    for (const object of templates) {
      const kind = ALL_KINDS.find(({ kind }) => kind === object.kind)!
      assert.deepEqual(
        checkObject(kind, { ...object, metadata: { ...object.metadata, namespace: 'default' } }).faults,
        [],
      )
    }
  })

  it('has no namespace and nothing to substitute, as clusterctl asks', () => {
    const text = clusterClassText()
    assert.ok(!text.includes('${'))
    for (const object of manifests(text)) assert.equal(object.metadata.namespace, undefined, object.kind)
    const names = new Set(ofKind(manifests(text), 'WorkspaceTemplate').map(({ metadata }) => metadata.name))
    // The machine template has text to substitute: docs/nodes.md says to apply it.
    for (const name of ['vpcTemplate', 'controlPlaneTemplate', 'nodeGroupTemplate']) {
      const fallback = variables.find((variable) => variable.name === name)?.schema.openAPIV3Schema.default
      assert.ok(names.has(fallback as string), `the default of ${name} is not delivered with the class`)
    }
    assert.ok(isPlainObject(specOf(definition!)['infrastructure']))
  })
})
