// The traps that the doctor knows, as a table: what is found in which survey, and with which fix.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
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
