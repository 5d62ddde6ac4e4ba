// The traps that the doctor knows, as a table: what is found in which survey, and with which fix.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type AnyObject, DeploymentKind, LeaseKind } from '#api'
import { memoryCluster } from '#testing'
import { StatefulSetKind } from '../kinds.ts'
import { exampleJournal, exampleSurvey, node, pool } from '../survey/example.ts'
import { readKubernetesSide } from '../survey/read-kubernetes.ts'
import { examine } from './examine.ts'
import { advisePlacement } from './placement-advice.ts'

type Changes = NonNullable<Parameters<typeof exampleSurvey>[0]>
const deployment = (name: string, more: object = {}) => ({
  namespace: 'kube-system',
  name,
  version: '1.14.1',
  replicas: 2,
  available: 2,
  ...more,
})
const nodeClass = (alias: string) => ({ name: 'default', isReady: true, message: '', aliases: [alias] })
const role = (trust: unknown, inline: Readonly<Record<string, unknown>> = {}) => ({
  name: 'KarpenterControllerRole-demo',
  arn: 'arn:aws:iam::1:role/KarpenterControllerRole-demo',
  trust,
  tags: {},
  attached: [],
  inline,
})
const byName = { Statement: [{ Condition: { StringLike: { 'ec2:ResourceTag/Name': '*karpenter*' } } }] }
const trusting = (namespace: string) => ({ sub: `system:serviceaccount:${namespace}:karpenter` })
const tagged = ['sg-1', 'sg-2'].map((id) => ({ id, name: id, tags: { 'karpenter.sh/discovery': 'demo' } }))

const journalIn = (namespace: string) => exampleJournal({ namespace })

const TRAPS: readonly (readonly [word: string, survey: Changes])[] = [
  ['addons', { addons: [], kubernetes: { hasCni: false } }],
  ['addons', { addons: ['vpc-cni'], kubernetes: { hasDns: false } }],
  ['automode', { cluster: { isAutoMode: true } }],
  [
    'taints',
    {
      kubernetes: { nodes: [node('one', 'system', { taints: [{ key: 'role', value: 'ops', effect: 'NoSchedule' }] })] },
    },
  ],
  ['endpoint', { cluster: { isPublic: false } }],
  ['admin', { cluster: { authenticationMode: 'API' } }],
  ['moved', { kubernetes: { karpenter: [deployment('karpenter')], journal: journalIn('karpenter') } }],
  ['flux', { kubernetes: { flux: { version: '2.9.5', isRunning: false } } }],
  ['replicas', { kubernetes: { karpenter: [deployment('karpenter', { available: 1 })] } }],
  [
    'second',
    { kubernetes: { karpenter: [deployment('karpenter'), deployment('karpenter', { namespace: 'karpenter' })] } },
  ],
  ['chart', { kubernetes: { chartRange: '1.x' } }],
  ['stored', { kubernetes: { definitions: [{ name: 'nodepools.karpenter.sh', storedVersions: ['v1beta1', 'v1'] }] } }],
  ['alpha', { kubernetes: { definitions: [{ name: 'provisioners.karpenter.sh', storedVersions: ['v1alpha5'] }] } }],
  ['image', { kubernetes: { nodeClasses: [nodeClass('al2@v20250101')] } }],
  ['image', { kubernetes: { nodeClasses: [nodeClass('al2023@latest')] } }],
  ['pool', { kubernetes: { nodePools: [pool('default', { isReady: false, message: 'NodeClassNotReady' })] } }],
  ['joining', { kubernetes: { nodePools: [pool('default', { isRegistering: false })] } }],
  ['expiry', { kubernetes: { nodePools: [pool('default', { expireAfter: undefined })] } }],
  ['spot', { hasSpotRole: false, kubernetes: { nodePools: [pool('default', { usesSpot: true })] } }],
  ['types', { kubernetes: { nodePools: [pool('default', { instanceTypes: ['c', 't', 'm'] })] } }],
  ['orphans', { kubernetes: { claims: ['default-abc'] } }],
  [
    'autoscaler',
    { kubernetes: { karpenter: [deployment('karpenter')], autoscalers: [deployment('cluster-autoscaler')] } },
  ],
  ['handler', { kubernetes: { terminationHandlers: ['kube-system/aws-node-termination-handler'] } }],
  ['terminate', { controllerRole: role({}, { policy: byName }) }],
  ['oidc', { oidcProviders: [], controllerRole: role({ Federated: 'arn:aws:iam::1:oidc-provider/x' }) }],
  ['trust', { controllerRole: role(trusting('karpenter')), kubernetes: { karpenter: [deployment('karpenter')] } }],
  ['groups', { securityGroups: tagged }],
  ['kubeconfig', { hasEmbeddedToken: true }],
  ['suffix', { kubernetes: { stateSuffixes: [{ namespace: 'infra', suffix: 'prod-1' }] } }],
  ['policy', { controllerRole: role({}, { mine: { Statement: 'x'.repeat(8000) } }) }],
]

describe('The doctor of Karpenter', () => {
  it('finds nothing in a cluster in order', () => {
    const definitions = [{ name: 'nodeoverlays.karpenter.sh', storedVersions: ['v1alpha1'] }]
    assert.deepEqual(examine(exampleSurvey({ kubernetes: { definitions } })), [])
  })

  for (const [word, survey] of TRAPS)
    it(`finds the trap "${word}" in ${JSON.stringify(Object.keys(survey.kubernetes ?? survey))}`, () => {
      const found = examine(exampleSurvey(survey)).filter((trap) => trap.word === word)
      assert.equal(found.length, 1)
      assert.notEqual(found[0]!.todo, '')
    })
})

/** Traps that no guide mentions: the page that explains each, and the check that finds it. */
const UNMENTIONED: readonly (readonly [trap: string, page: string, check: string])[] = [
  ['Flux on node groups that are all tainted', 'CAPT_FLUX_PODS_PENDING', 'taints'],
  ['controllers Pending without vpc-cni and coredns', 'CAPT_EKS_ADDONS_MISSING', 'addons'],
  ['a private endpoint', 'CAPT_EKS_ENDPOINT_UNREACHABLE', 'endpoint'],
  ['a creator without rights in the cluster', 'CAPT_EKS_CREATOR_NOT_ADMIN', 'admin'],
  ['chart ranges, which public ECR cannot resolve', 'CAPT_CHART_RANGE', 'chart'],
  ['a state suffix that ends in a number', 'CAPT_STATE_SUFFIX_NUMBER', 'suffix'],
  ['Amazon Linux 2 since Kubernetes 1.33', 'CAPT_AMI_AL2_ENDED', 'image'],
  ['a policy over the limit of IAM', 'CAPT_POLICY_TOO_LARGE', 'policy'],
  ['forceful expiry', 'CAPT_CONVERT_EXPIRY', 'expiry'],
  ['images that change by themselves', 'CAPT_AMI_LATEST_DRIFT', 'image'],
  ['kubeconfigs that live 15 minutes', 'CAPT_KUBECONFIG_EXPIRED', 'kubeconfig'],
  ['removal in the wrong order', 'CAPT_KARPENTER_TEARDOWN_ORDER', 'orphans'],
  ['another namespace or name of the release, which uninstalls it', 'CAPT_RELEASE_RENAMED', 'moved'],
]

describe('A trap that no guide mentions', () => {
  const pages = readFileSync(join(import.meta.dirname, '../../cli/errors.generated.json'), 'utf8')
  for (const [trap, page, check] of UNMENTIONED)
    it(`is explained and found: ${trap}`, () => {
      assert.ok(pages.includes(`"${page}"`), page)
      assert.ok(
        TRAPS.some(([word]) => word === check),
        check,
      )
    })
})

describe('Placement advice', () => {
  const survey = (placement: object, more: object = {}) => {
    const workload = { namespace: 'kube-system', name: 'coredns', kind: 'Deployment' as const, placement, ...more }
    return exampleSurvey({ kubernetes: { advised: [workload], nodePools: [pool('default')] } })
  }

  for (const kind of ['Deployment', 'StatefulSet'] as const)
    it(`names a ${kind} that may land on nodes of Karpenter, with a patch that prevents it`, () => {
      const [advice] = advisePlacement(survey({}, { kind }))
      assert.match(advice!.command!, new RegExp(`patch ${kind.toLowerCase()} coredns `))
      const patch = JSON.parse(/-p '(.*)'$/.exec(advice!.command!)![1]!)
      assert.deepEqual(advisePlacement(survey(patch.spec.template.spec)), [])
    })

  it('names who writes the object instead of a patch that would be taken back', () => {
    const [advice] = advisePlacement(survey({}, { writer: 'Prometheus monitoring/k8s' }))
    assert.equal(advice!.command, undefined)
    const affinity = JSON.parse(/in Prometheus monitoring\/k8s, by affinity (.*)$/.exec(advice!.todo)![1]!)
    assert.deepEqual(advisePlacement(survey({ affinity })), [])
  })
})

describe('The survey of a cluster', () => {
  const seeded = (kind: string, name: string, metadata: object = {}) =>
    ({ apiVersion: 'apps/v1', kind, metadata: { namespace: 'any', name, ...metadata } }) as AnyObject
  const operator = [
    { apiVersion: 'monitoring.coreos.com/v1', kind: 'Prometheus', name: 'k8s', uid: 'u', controller: true },
  ]

  it('has Karpenter, DNS, metrics and dashboards for placement advice, as Deployments and StatefulSets', async () => {
    const { objects, seed } = memoryCluster()
    for (const name of ['karpenter', 'coredns', 'metrics-server', 'grafana', 'shop'])
      seed(DeploymentKind, seeded('Deployment', name))
    seed(StatefulSetKind, seeded('StatefulSet', 'prometheus-k8s', { ownerReferences: operator }))
    const { advised } = await readKubernetesSide(objects)
    assert.deepEqual(
      advised.map(({ kind, name, writer }) => [kind, name, writer]),
      [
        ['Deployment', 'coredns', undefined],
        ['Deployment', 'grafana', undefined],
        ['Deployment', 'karpenter', undefined],
        ['Deployment', 'metrics-server', undefined],
        ['StatefulSet', 'prometheus-k8s', 'Prometheus any/k8s'],
      ],
    )
  })

  it('has the suffix of every Terraform state by its lock, and reads no Secret', async () => {
    const { objects, seed, requests } = memoryCluster()
    const labels = { tfstate: 'true', tfstateSecretSuffix: 'prod-1', tfstateWorkspace: 'default' }
    for (const [name, more] of [
      ['lock-tfstate-default-prod-1', { labels }],
      ['kube-scheduler', {}],
    ] as const)
      seed(LeaseKind, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: 'infra', name, ...more },
      } as AnyObject)
    const { stateSuffixes } = await readKubernetesSide(objects)
    assert.deepEqual(stateSuffixes, [{ namespace: 'infra', suffix: 'prod-1' }])
    assert.ok(!requests.some(({ kind }) => kind === 'Secret'))
  })
})
