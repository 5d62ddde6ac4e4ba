// The traps that the doctor knows, as a table: what is found in which survey, and with which fix.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Journal } from '../journal.ts'
import { exampleSurvey, node, pool } from '../survey/example.ts'
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

const journalIn = (namespace: string): Journal => ({
  format: 1,
  phase: 'installed',
  cluster: 'demo',
  region: 'eu-west-1',
  account: '123456789012',
  version: '1.14.1',
  namespace,
  identity: 'irsa',
  discoveryTag: 'karpenter.sh/discovery',
  made: [],
})

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
]

describe('The doctor of Karpenter', () => {
  it('finds nothing in a cluster in order', () => assert.deepEqual(examine(exampleSurvey()), []))

  for (const [word, survey] of TRAPS)
    it(`finds the trap "${word}" in ${JSON.stringify(Object.keys(survey.kubernetes ?? survey))}`, () => {
      const found = examine(exampleSurvey(survey)).filter((trap) => trap.word === word)
      assert.equal(found.length, 1)
      assert.notEqual(found[0]!.todo, '')
    })
})

/**
 * Traps that no guide mentions: the page that explains each, and the check for what a survey of an existing cluster shows.
 * Without one, capt keeps people out of it: it makes no such state, policy or kubeconfig.
 */
const UNMENTIONED: readonly (readonly [trap: string, page: string, check?: string])[] = [
  ['Flux on node groups that are all tainted', 'CAPT_FLUX_PODS_PENDING', 'taints'],
  ['controllers Pending without vpc-cni and coredns', 'CAPT_EKS_ADDONS_MISSING', 'addons'],
  ['a private endpoint', 'CAPT_EKS_ENDPOINT_UNREACHABLE', 'endpoint'],
  ['a creator without rights in the cluster', 'CAPT_EKS_CREATOR_NOT_ADMIN', 'admin'],
  ['chart ranges, which public ECR cannot resolve', 'CAPT_CHART_RANGE', 'chart'],
  ['a state suffix that ends in a number', 'CAPT_STATE_SUFFIX_NUMBER'],
  ['Amazon Linux 2 since Kubernetes 1.33', 'CAPT_AMI_AL2_ENDED', 'image'],
  ['a policy over the limit of IAM', 'CAPT_POLICY_TOO_LARGE'],
  ['forceful expiry', 'CAPT_CONVERT_EXPIRY', 'expiry'],
  ['images that change by themselves', 'CAPT_AMI_LATEST_DRIFT', 'image'],
  ['kubeconfigs that live 15 minutes', 'CAPT_KUBECONFIG_EXPIRED'],
  ['removal in the wrong order', 'CAPT_KARPENTER_TEARDOWN_ORDER', 'orphans'],
  ['another namespace or name of the release, which uninstalls it', 'CAPT_RELEASE_RENAMED', 'moved'],
]

describe('A trap that no guide mentions', () => {
  const pages = readFileSync(join(import.meta.dirname, '../../cli/errors.generated.json'), 'utf8')
  for (const [trap, page, check] of UNMENTIONED)
    it(`is explained, and found where it can be: ${trap}`, () => {
      assert.ok(pages.includes(`"${page}"`), page)
      assert.ok(check === undefined || TRAPS.some(([word]) => word === check), check)
    })
})

describe('Placement advice', () => {
  const coredns = (placement: object) => ({ ...deployment('coredns'), placement })
  const survey = (placement: object) =>
    exampleSurvey({ kubernetes: { advised: [coredns(placement)], nodePools: [pool('default')] } })

  it('names what may land on nodes of Karpenter, with a patch that prevents it', () => {
    const [advice] = advisePlacement(survey({}))
    const patch = JSON.parse(/-p '(.*)'$/.exec(advice!.command!)![1]!)
    assert.deepEqual(advisePlacement(survey(patch.spec.template.spec)), [])
  })
})
