// modules/karpenter held to the guide it comes from and to the catalogue it is generated from. What Terraform computes
// without a provider (names, versions, the placement guard) is computed by the real terraform, where it is installed.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  type Affinity,
  affinityMatches,
  chartTag,
  inlineControllerPolicy,
  karpenterNames,
  mergeGuard,
  type PlacementNode,
  ruleName,
  versionsFor,
} from '#catalog'
import { moduleFiles, parseVariables } from '../../../scripts/karpenter-module.ts'
import {
  clusterLocals as CLUSTER,
  evaluate,
  MODULE,
  quietTerraform,
  readModule as read,
} from '../../support/karpenter-module.ts'
import { findTool } from '../../support/tools.ts'

const sources = readdirSync(MODULE).filter((name) => name.endsWith('.tf'))
const variables = parseVariables(read('variables.tf'))

const terraform = findTool('terraform')
const isHere = (t: TestContext): boolean => {
  if (!terraform) t.diagnostic('terraform is not on PATH: only what can be read from the files was checked')
  return terraform !== undefined
}

/** The table of the guide: name, type, default. Where the type could not work there, the one that can. */
const GUIDE: readonly (readonly [string, string, string])[] = [
  ...[
    'project',
    'env',
    'region',
    'backend_s3_bucket_name',
    'eks_s3_key',
    'infra_network_s3_key',
    'eks_cluster_name',
    'eks_endpoint_url',
    'eks_cluster_certificate_authority_data',
    'eks_oidc_provider_arn',
    'eks_oidc_provider_url',
    'eks_auth_token',
    'helm_release_name',
    'helm_chart_name',
    'helm_chart_version',
    'helm_repository_url',
  ].map((name) => [name, 'string', '""'] as const),
  ['create_namespace', 'bool', 'true'],
  ['namespace', 'string', '"karpenter"'],
  ['replica_count', 'number', '2'],
  ['karpenter_values', 'any', '{}'],
  ['node_selector', 'map(string)', '{}'],
  ['affinity', 'any', '{}'],
  [
    'tolerations',
    'list(object({ key = optional(string) operator = optional(string) value = optional(string) effect = optional(string) tolerationSeconds = optional(number) }))',
    '[]',
  ],
]

describe('the Karpenter module', () => {
  it('has every variable of the guide, by the same name, with the same default', () => {
    for (const [name, type, fallback] of GUIDE) {
      const variable = variables.find((one) => one.name === name)
      assert.deepEqual([variable?.name, variable?.type, variable?.default], [name, type, fallback])
    }
  })

  it('describes and uses every variable it declares, and declares every one it uses', () => {
    const text = sources
      .filter((name) => name !== 'variables.tf')
      .map(read)
      .join('\n')
    const declared = new Set(variables.map(({ name }) => name))
    const used = new Set([...text.matchAll(/\bvar\.(\w+)/g)].map((match) => match[1]!))
    assert.deepEqual(
      [...declared].filter((name) => !used.has(name)),
      [],
    )
    assert.deepEqual(
      [...used].filter((name) => !declared.has(name)),
      [],
    )
    assert.deepEqual(
      variables.filter(({ description }) => description.length < 10).map(({ name }) => name),
      [],
    )
  })

  it('keeps the token out of plans and logs', () =>
    assert.match(read('variables.tf'), /variable "eks_auth_token" \{[^}]*sensitive\s+= true/))

  it('adds the entry of aws-auth with the token it was given, which no destroy can know', () => {
    const [, add, remove] = read('update_aws_auth.tf').split('provisioner "local-exec"')
    assert.match(add!, /aws-auth-add[^}]*AUTH_TOKEN\s+= var\.eks_auth_token/)
    assert.match(remove!, /when\s+= destroy[^}]*aws-auth-remove/)
    assert.doesNotMatch(remove!, /var\./)
  })

  it('names only variables it has in the example', () => {
    const named = [...read('example/example.tfvars').matchAll(/^(\w+)\s*=/gm)].map((match) => match[1]!)
    assert.ok(named.includes('eks_cluster_name'))
    assert.deepEqual(
      named.filter((name) => !variables.some((variable) => variable.name === name)),
      [],
    )
  })

  it('carries exactly what the catalogue generates, and the README exactly its variables (npm run generate)', () => {
    const files = moduleFiles(read('README.md'), read('variables.tf'), read('outputs.tf'))
    for (const [path, text] of files)
      assert.equal(readFileSync(join(MODULE, '../..', path), 'utf8'), text, `${path} is stale`)
    const policies = readdirSync(join(MODULE, 'policies')).map((name) => `modules/karpenter/policies/${name}`)
    assert.deepEqual(
      policies.filter((path) => !files.has(path)),
      [],
    )
  })

  it('names things as the guide names them', () => {
    const names = read('names.tf')
    for (const name of [
      'KarpenterNodeRole-',
      'KarpenterNodeInstanceProfile-',
      'KarpenterControllerRole-',
      'KarpenterControllerPolicy-',
    ])
      assert.ok(names.includes(`"${name}\${local.cluster_name}"`))
  })

  it('never owns the Spot role, replaces no ConfigMap, and calls no kubectl', () => {
    const text = [...sources.map(read), read('scripts/cluster.sh')].join('\n')
    assert.doesNotMatch(text, /aws_iam_service_linked_role|kubernetes_config_map|^\s*kubectl /m)
    assert.match(read('node-role.tf'), /aws iam create-service-linked-role --aws-service-name spot.amazonaws.com/)
  })

  it('prints both warnings with their cause, and the way out of the 403', () => {
    const readme = read('README.md')
    for (const text of [
      'NotReady',
      'kubelets can no longer log in',
      'must not run on nodes that Karpenter made',
      'status code [manifests v0.27.3]: 403 forbidden',
      'docker logout public.ecr.aws',
      'helm registry logout public.ecr.aws',
      'create-service-linked-role',
    ])
      assert.ok(readme.includes(text), text)
    for (const command of [
      'terraform init',
      'terraform plan -var-file=example/example.tfvars',
      'terraform apply -var-file=example/example.tfvars',
      'terraform destroy -var-file=example/example.tfvars',
    ])
      assert.ok(readme.includes(command), command)
  })

  it('is formatted', (t) => {
    if (!isHere(t)) return
    execFileSync(terraform!, ['fmt', '-check', '-recursive', MODULE], { env: quietTerraform() })
  })
})

const required = (...nodeSelectorTerms: object[]): Affinity => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
})
describe('what Terraform computes in the module', () => {
  it('takes a value given here first, then the states, then the lookup', (t) => {
    if (!isHere(t)) return
    const lookedUp = {
      version: '1.35',
      endpoint: 'https://looked-up',
      certificate_authority: [{ data: 'bG9va2Vk' }],
      identity: [{ oidc: [{ issuer: 'https://oidc.example/id/LOOKED' }] }],
      vpc_config: [{ subnet_ids: ['subnet-looked'], cluster_security_group_id: 'sg-looked' }],
    }
    const state = { cluster_name: 'from-state', cluster_endpoint: 'https://from-state', oidc_provider_arn: 'arn:state' }
    const given = { eks_cluster_name: 'given', eks_endpoint_url: 'https://given', subnet_ids: ['subnet-given'] }
    const ask = (inputs: Record<string, unknown>, eks: object, network: object) => {
      const found = evaluate(
        ['cluster.tf'],
        { ...inputs, region: 'eu-west-1' },
        ['local.cluster', 'local.subnet_ids', 'local.security_group_id', 'local.default_tags'],
        `locals {\n  looked_up = jsondecode(${JSON.stringify(JSON.stringify(lookedUp))})\n  states = jsondecode(${JSON.stringify(JSON.stringify({ eks, network }))})\n}\n`,
      )
      const { name, endpoint, oidc_provider_arn: arn, issuer } = found['local_cluster'] as Record<string, string>
      return [name, endpoint, arn, issuer, found['local_subnet_ids'], found['local_security_group_id']]
    }
    assert.deepEqual(ask(given, state, { private_subnets: ['subnet-state'] }), [
      'given',
      'https://given',
      'arn:state',
      'oidc.example/id/LOOKED',
      ['subnet-given'],
      'sg-looked',
    ])
    assert.deepEqual(ask({}, state, { private_subnets: ['subnet-state'] }), [
      'from-state',
      'https://from-state',
      'arn:state',
      'oidc.example/id/LOOKED',
      ['subnet-state'],
      'sg-looked',
    ])
    assert.deepEqual(ask({ eks_cluster_name: 'given' }, {}, {}), [
      'given',
      'https://looked-up',
      'arn:partition:iam::account_id:oidc-provider/oidc.example/id/LOOKED',
      'oidc.example/id/LOOKED',
      ['subnet-looked'],
      'sg-looked',
    ])
  })

  it('is the same name the catalogue gives, also when it has to be cut', (t) => {
    if (!isHere(t)) return
    for (const name of ['demo', `very-${'long-'.repeat(18)}name`]) {
      const { local_bounded: bounded } = evaluate(
        ['names.tf', 'catalog.tf'],
        {},
        ['local.bounded'],
        CLUSTER(name, '1.35'),
      ) as { local_bounded: Record<string, string> }
      const expected = karpenterNames(name)
      assert.deepEqual(
        [
          bounded['node_role'],
          bounded['instance_profile'],
          bounded['controller_role'],
          bounded['controller_policy'],
          bounded['queue'],
          bounded['spot'],
        ],
        [
          expected.nodeRole,
          expected.instanceProfile,
          expected.controllerRole,
          expected.controllerPolicy,
          expected.queue,
          ruleName(name, 'spot'),
        ],
      )
    }
  })

  it('is the version, support and policy the catalogue gives', (t) => {
    if (!isHere(t)) return
    const wanted = ['local.chosen', 'local.supported', 'local.policy_file', 'keys(local.event_rules)']
    for (const [version, kubernetes, supported, file, rules] of [
      ['', '1.35', true, 'controller-1.12.json.tftpl', 5],
      ['v1.9.2', '1.35', true, 'controller-1.7.json.tftpl', 4],
      ['1.0.7', '1.31', true, 'controller-1.0.json.tftpl', 4],
      ['1.0.7', '1.34', false, 'controller-1.0.json.tftpl', 4],
      ['1.8.4', '1.34', false, 'controller-1.7.json.tftpl', 4],
    ] as const) {
      const found = evaluate(['catalog.tf'], { helm_chart_version: version }, wanted, CLUSTER('demo', kubernetes))
      const chosen = version === '' ? versionsFor('karpenter', kubernetes)[0] : version.replace(/^v/, '')
      assert.deepEqual(
        [found['local_chosen'], found['local_supported'], found['local_policy_file']],
        [chosen, supported, file],
      )
      assert.equal((found['keys_local_event_rules_'] as string[]).length, rules)
    }
  })

  it('is the policy the catalogue gives, filled in', (t) => {
    if (!isHere(t)) return
    const scope = {
      partition: 'aws',
      region: 'eu-west-1',
      accountId: '1',
      clusterName: 'demo',
      nodeRoleArn: 'arn:role',
      queueArn: 'arn:queue',
      zonalShift: true,
    }
    const template = `jsondecode(templatefile("${MODULE}/policies/controller-1.12.json.tftpl", { partition = "aws", region = "eu-west-1", account_id = "1", cluster_name = "demo", node_role_arn = "arn:role", queue_arn = "arn:queue" }))`
    const { policy } = evaluate([], {}, [], `output "policy" {\n  value = ${template}\n}\n`)
    assert.deepEqual(policy, JSON.parse(JSON.stringify(inlineControllerPolicy('1.14.1', scope))))
  })

  it('puts the guard into every term, as the catalogue does', (t) => {
    if (!isHere(t)) return
    const inGroup = { matchExpressions: [{ key: 'eks.amazonaws.com/nodegroup', operator: 'In', values: ['ng-a'] }] }
    const absent = { matchExpressions: [{ key: 'karpenter.sh/provisioner-name', operator: 'DoesNotExist' }] }
    const byName = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }
    const inputs = [
      {},
      required(absent, inGroup),
      required(inGroup),
      required({ matchExpressions: [{ key: 'role', operator: 'In', values: ['ops'] }] }, byName, {}),
    ]
    const nodes: PlacementNode[] = [
      { labels: { 'eks.amazonaws.com/nodegroup': 'ng-a' } },
      { labels: { role: 'ops' } },
      { labels: { role: 'ops', 'karpenter.sh/nodepool': 'x' } },
      { name: 'n', labels: {} },
      { name: 'n', labels: { 'karpenter.sh/provisioner-name': 'x' } },
    ]
    for (const affinity of inputs) {
      const { local_guard_values: values } = evaluate(
        ['release.tf', 'catalog.tf'],
        { affinity },
        ['local.guard_values'],
        CLUSTER('demo', '1.35'),
      ) as { local_guard_values: { affinity: Affinity } }
      for (const node of nodes)
        assert.equal(
          affinityMatches(values.affinity, node),
          affinityMatches(mergeGuard(affinity as Affinity), node),
          JSON.stringify([affinity, node]),
        )
    }
  })

  it('lets karpenter_values win over the variables but not over the guard, and spells the chart version', (t) => {
    if (!isHere(t)) return
    const karpenter_values = {
      affinity: required({ matchExpressions: [{ key: 'a', operator: 'Exists' }] }),
      replicas: 1,
    }
    const inputs = {
      karpenter_values,
      affinity: required({ matchExpressions: [{ key: 'b', operator: 'Exists' }] }),
      tolerations: [{ key: 'role', operator: 'Equal', value: 'ops', effect: 'NoSchedule' }],
      node_selector: { role: 'ops' },
    }
    const found = evaluate(
      ['release.tf', 'catalog.tf'],
      inputs,
      ['local.guard_values', 'local.own_values', 'local.chart_version', 'local.possible_terms'],
      CLUSTER('demo', '1.35'),
    )
    assert.deepEqual(
      (found['local_guard_values'] as { affinity: Affinity }).affinity,
      mergeGuard(karpenter_values.affinity),
    )
    assert.partialDeepStrictEqual(found['local_own_values'], {
      replicas: 2,
      nodeSelector: { role: 'ops' },
      tolerations: [{ key: 'role', operator: 'Equal', value: 'ops', effect: 'NoSchedule' }],
      settings: { clusterName: 'demo' },
    })
    assert.equal(found['local_chart_version'], chartTag('1.14.1'))
  })

  it('leaves no term when the affinity wants only nodes that Karpenter makes, which the release then refuses', (t) => {
    if (!isHere(t)) return
    const affinity = required({ matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'Exists' }] })
    assert.deepEqual(
      evaluate(['release.tf', 'catalog.tf'], { affinity }, ['local.possible_terms'], CLUSTER('demo', '1.35'))[
        'local_possible_terms'
      ],
      [],
    )
    assert.match(read('release.tf'), /length\(local\.possible_terms\) > 0/)
  })

  for (const [what, input] of [
    ['values of an old chart', { karpenter_values: { settings: { aws: { clusterName: 'x' } } } }],
    ['a version range', { helm_chart_version: '>= 1.14' }],
    ['an identity nobody knows', { identity: 'both' }],
    ['a node selector on nodes that Karpenter makes', { node_selector: { 'karpenter.sh/nodepool': 'default' } }],
  ] as const) {
    it(`refuses ${what}`, (t) => {
      if (!isHere(t)) return
      assert.throws(() => evaluate([], input, []), /Invalid value for variable/)
    })
  }
})
