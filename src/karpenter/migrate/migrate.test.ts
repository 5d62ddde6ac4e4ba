import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideOnChanges, refuseRelease, refuseTool } from './decide.ts'
import { findKarpenter, literal } from './find-release.ts'
import { releasesInState } from './read-state.ts'
import { clusterLabels, renderPipeline } from './render-pipeline.ts'
import { inlineTemplates, rewriteManifest, rewriteModule } from './rewrite.ts'

const IAM = `resource "aws_iam_role" "karpenter_controller" {
  name               = "KarpenterController-\${var.cluster_name}"
  assume_role_policy = jsonencode({ Statement = [{ Effect = "Allow" }] }) # helm_release.karpenter uses it
}`

const RELEASE = `resource "helm_release" "karpenter" {
  namespace        = "karpenter"
  create_namespace = true
  name             = "karpenter"
  repository       = "oci://public.ecr.aws/karpenter"
  chart            = "karpenter" # pinned below
  version          = "1.0.7"

  values = [<<-EOT
    settings:
      clusterName: \${module.eks.cluster_name}
    note: "} is no end of the block"
    EOT
  ]

  set {
    name  = "serviceAccount.annotations.eks\\\\.amazonaws\\\\.com/role-arn"
    value = aws_iam_role.karpenter_controller.arn
  }
  depends_on = [module.eks]
}`

const CRDS = `resource "helm_release" "crds" {
  name  = "karpenter-crd"
  chart = "oci://public.ecr.aws/karpenter/karpenter-crd"
}`

const POOL = `resource "kubectl_manifest" "pool" {
  yaml_body  = <<-YAML
    apiVersion: karpenter.sh/v1
    kind: NodePool
  YAML
  depends_on = [helm_release.karpenter]
}`

const OTHER = `resource "helm_release" "metrics" {
  name  = "metrics-server"
  chart = "metrics-server"
}`

const providers = 'provider "helm" {}\nprovider "kubectl" {}'
const MODULE = `/* Karpenter
   and its IAM */
${providers}
${IAM}

# resource "helm_release" "old" { chart = "karpenter" }
${RELEASE}

${CRDS}
${POOL}
${OTHER}
`

describe('findKarpenter', () => {
  it('finds the releases of both charts and the pools, and lists the IAM that stays', () => {
    const found = findKarpenter({ 'main.tf': MODULE })
    assert.deepEqual(
      found.releases.map(({ address, chart, name, namespace, version, line }) => [
        address,
        chart,
        name,
        namespace,
        version,
        line,
      ]),
      [
        ['helm_release.karpenter', 'karpenter', 'karpenter', 'karpenter', '1.0.7', 11],
        ['helm_release.crds', 'karpenter-crd', 'karpenter-crd', 'default', undefined, 33],
      ],
    )
    assert.deepEqual(
      found.manifests.map(({ address }) => address),
      ['kubectl_manifest.pool'],
    )
    assert.deepEqual(found.iam, ['aws_iam_role.karpenter_controller'])
    assert.deepEqual(found.idleProviders, ['kubectl'], 'metrics-server still needs the provider helm')
  })

  it('reads a chart that is an expression by the name of the resource, or by what a person names', () => {
    const text = RELEASE.replace('"karpenter" # pinned below', 'var.chart').replace(
      '"oci://public.ecr.aws/karpenter"',
      'var.repository',
    )
    assert.equal(findKarpenter({ a: text }).releases.length, 1)
    const renamed = text.replace('"helm_release" "karpenter"', '"helm_release" "autoscaler"')
    assert.equal(findKarpenter({ a: renamed }).releases.length, 0)
    assert.equal(findKarpenter({ a: renamed }, ['helm_release.autoscaler']).releases.length, 1)
    assert.throws(() => findKarpenter({ a: renamed }, ['helm_release.other']), { code: 'CAPT_MIGRATE_NO_RELEASE' })
  })

  const references: readonly (readonly [string, string, boolean])[] = [
    ['an output', 'output "status" {\n  value = helm_release.karpenter.status\n}', true],
    ['a dependency', 'resource "time_sleep" "a" {\n  depends_on = [helm_release.karpenter]\n}', true],
    ['an interpolation', 'locals {\n  a = "v${helm_release.karpenter.version}"\n}', true],
    ['a longer name', 'locals {\n  a = helm_release.karpenter_two.name\n}', false],
    ['a comment', 'locals {\n  a = 1 // helm_release.karpenter\n}', false],
    ['its own removed block', 'removed {\n  from = helm_release.karpenter\n}', false],
  ]
  for (const [what, text, isRefused] of references)
    it(`${isRefused ? 'refuses' : 'accepts'} ${what} that names the release`, () => {
      const find = () => findKarpenter({ 'main.tf': RELEASE, 'more.tf': text })
      if (isRefused) assert.throws(find, { code: 'CAPT_MIGRATE_REFERENCED', message: /more\.tf, line 2/ })
      else assert.equal(find().releases.length, 1)
    })

  it('knows a text that was migrated already', () => {
    const files = { 'main.tf': MODULE }
    const { releases, manifests } = findKarpenter(files)
    const again = findKarpenter(rewriteModule(files, [...releases, ...manifests]))
    assert.deepEqual(again.releases, [])
    assert.deepEqual(again.forgotten, ['helm_release.karpenter', 'helm_release.crds', 'kubectl_manifest.pool'])
  })

  it('reads text values without expressions, and nothing else', () => {
    const cases: readonly (readonly [string | undefined, string | undefined])[] = [
      ['"karpenter"', 'karpenter'],
      ['"a" # b', 'a'],
      ['"$5"', '$5'],
      ['"${var.a}"', undefined],
      ['var.a', undefined],
      [undefined, undefined],
    ]
    for (const [source, value] of cases) assert.equal(literal(source), value, source)
  })
})

describe('rewriteModule', () => {
  it('puts a removed block in the place of each release, and keeps every other byte', () => {
    const files = { 'main.tf': MODULE, 'iam.tf': IAM }
    const { releases, manifests } = findKarpenter(files)
    const changed = rewriteModule(files, [...releases, ...manifests])
    assert.deepEqual(Object.keys(changed), ['main.tf'], 'a file without a release is not written')
    const removed = (address: string) => `removed {\n  from = ${address}\n\n  lifecycle {\n    destroy = false\n  }\n}`
    const expected = MODULE.replace(RELEASE, removed('helm_release.karpenter'))
      .replace(CRDS, removed('helm_release.crds'))
      .replace(POOL, removed('kubectl_manifest.pool'))
    assert.equal(changed['main.tf'], expected)
    assert.ok(expected.includes(IAM))
  })
})

describe('rewriteManifest', () => {
  const indented = MODULE.trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `          ${line}`))
    .join('\n')
  const manifest = (header: string) => `# first
apiVersion: v1
kind: ConfigMap
metadata: {name: a}   # odd   spacing
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata:
  name: eks-v2
spec:
  template:
    spec:
      forProvider:
        source: Inline
        module: ${header}
${indented}
        vars: [{key: a,   value: "b"}]
`
  for (const header of ['|', '|-'])
    it(`changes the lines of a literal block (${header}) and no other`, () => {
      const text = manifest(header)
      const [template] = inlineTemplates(text)
      const next = `${template!.module.replace(RELEASE, 'removed {}')}`
      const after = rewriteManifest(text, template!, next)
      assert.equal(inlineTemplates(after)[0]!.module, next)
      const lines = RELEASE.split('\n')
        .map((line) => (line === '' ? '' : `          ${line}`))
        .join('\n')
      assert.equal(after, text.replace(lines, '          removed {}'))
    })

  it('writes a quoted module as a literal block', () => {
    const text = manifest('|').replace(
      /module: \|[\s\S]*?\n {8}vars/,
      `module: ${JSON.stringify(MODULE)}\n        vars`,
    )
    const [template] = inlineTemplates(text)
    const after = rewriteManifest(text, template!, 'locals {}\n')
    assert.equal(inlineTemplates(after)[0]!.module, 'locals {}\n')
    assert.match(after, /name: a/)
  })
})

describe('decideOnChanges', () => {
  const cases: readonly (readonly [string, readonly [string, string][], string])[] = [
    ['only forgets', [['forget', 'helm_release.karpenter']], ''],
    ['forgets in the words of the messages', [['remove', 'helm_release.karpenter']], ''],
    [
      'adds a tag elsewhere',
      [
        ['forget', 'helm_release.karpenter'],
        ['update', 'aws_vpc.this'],
      ],
      '',
    ],
    ['destroys the release', [['delete', 'helm_release.karpenter']], 'CAPT_MIGRATE_DESTROYS'],
    ['replaces something', [['replace', 'module.eks.aws_eks_cluster.this[0]']], 'CAPT_MIGRATE_DESTROYS'],
    ['changes a role', [['update', 'module.karpenter.aws_iam_role.node["a.b"]']], 'CAPT_MIGRATE_IAM'],
    ['makes a policy', [['create', 'aws_iam_policy.controller']], 'CAPT_MIGRATE_IAM'],
  ]
  for (const [what, changes, code] of cases)
    it(`${code === '' ? 'accepts' : 'refuses'} a plan that ${what}`, () => {
      const decide = () => decideOnChanges(changes.map(([action, address]) => ({ action, address })))
      if (code !== '') assert.throws(decide, { code })
      else assert.deepEqual(decide().forgotten, ['helm_release.karpenter'])
    })
})

describe('refuseTool', () => {
  for (const tool of ['terraform 1.6.6', 'tofu 1.9.4', 'terraform'])
    it(`refuses ${tool}`, () => assert.equal(refuseTool(tool)?.code, 'CAPT_MIGRATE_TOOL'))
  for (const tool of ['terraform 1.7.0', 'terraform 1.7.0-beta1', 'terraform 1.11.4', 'tofu 1.10.0', 'simulated'])
    it(`accepts ${tool}`, () => assert.equal(refuseTool(tool), undefined))
})

describe('the release in a state', () => {
  const values = {
    settings: { clusterName: 'demo' },
    serviceAccount: { name: 'karpenter-sa', annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/k' } },
    token: '(sensitive value)',
  }
  const attributes = {
    name: 'karpenter',
    namespace: 'karpenter',
    version: '1.0.7',
    metadata: [{ values: JSON.stringify(values) }],
  }
  const state = (given: object, more: object = {}) =>
    JSON.stringify({
      version: 4,
      resources: [
        { mode: 'managed', type: 'helm_release', name: 'karpenter', instances: [{ attributes: given }], ...more },
      ],
    })

  it('has name, namespace, version and values; sensitive values stay where they are', () => {
    for (const metadata of [attributes.metadata, attributes.metadata[0]]) {
      const [release] = releasesInState(state({ ...attributes, metadata }), ['helm_release.karpenter'])
      const { token: _, ...shown } = values
      assert.deepEqual(release, {
        address: 'helm_release.karpenter',
        name: 'karpenter',
        namespace: 'karpenter',
        version: '1.0.7',
        values: shown,
        hidden: ['token'],
      })
    }
  })

  it('is not there when the state has none, or has it in a child module', () => {
    assert.deepEqual(releasesInState(state({}), ['helm_release.other']), [])
    assert.deepEqual(releasesInState(state({}, { module: 'module.a' }), ['helm_release.karpenter']), [])
  })

  it('of another name is refused', () => {
    assert.equal(refuseRelease({ address: 'a.b', name: 'karpenter-two' })?.code, 'CAPT_MIGRATE_RELEASE_NAME')
    assert.equal(refuseRelease({ address: 'a.b', name: 'karpenter' }), undefined)
  })

  it('becomes a stage with the same namespace, version, values and identity, for this Cluster alone', () => {
    const [release] = releasesInState(state(attributes), ['helm_release.karpenter'])
    const { spec, metadata } = renderPipeline('default', 'demo', release!)
    assert.deepEqual(spec.clusterSelector, { matchLabels: { 'capt.appthrust.com/addon-pipeline': metadata.name } })
    assert.equal(clusterLabels('demo')['capt.appthrust.com/addon-pipeline'], metadata.name)
    const { karpenter } = spec.stages.find(({ name }) => name === 'karpenter')!
    assert.equal(karpenter?.namespace, 'karpenter')
    assert.equal(karpenter?.version, '1.0.7')
    assert.equal(karpenter?.identity, 'IRSA')
    assert.equal(karpenter?.serviceAccount, 'karpenter-sa')
    assert.equal(karpenter?.defaults, 'Chart', 'its pods stay as they are')
    assert.deepEqual(spec.variables, { KARPENTER_IAM_ROLE_ARN: 'arn:aws:iam::1:role/k' })
    assert.ok(!JSON.stringify(spec).includes('sensitive'))
  })

  it('without its values gets what capt knows', () => {
    const { values: _values, ...release } = releasesInState(state(attributes), ['helm_release.karpenter'])[0]!
    const { karpenter } = renderPipeline('default', 'demo', release).spec.stages.find((one) => one.karpenter)!
    assert.equal(karpenter?.defaults, undefined)
  })
})
