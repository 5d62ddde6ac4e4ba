// The decisions of an installation as a table: what a survey and options lead to, and what is refused with which next step.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseJournal, type ResourceRef } from '../journal.ts'
import { exampleSurvey, group, exampleJournal as journal, node, subnet } from '../survey/example.ts'
import type { Survey } from '../survey/survey.ts'
import { addNodeRole, hasNodeRole, removeNodeRole } from './aws-auth.ts'
import { terraformVariables } from './files.ts'
import { OWNER_TAG } from './observe.ts'
import type { Options } from './options.ts'
import { isNothingToDo, planInstall } from './plan.ts'

const KEY = 'karpenter.sh/discovery'
const deployment = (namespace: string, name = 'karpenter') => ({
  namespace,
  name,
  version: '1.10.0',
  replicas: 2,
  available: 2,
})
const role = (name: string, trust: unknown, tags = {}) => ({
  name,
  arn: `arn:aws:iam::1:role/${name}`,
  trust,
  tags,
  attached: [],
  inline: {},
})
const ec2Trust = {
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: ['sts:AssumeRole'] }],
}

interface Choice {
  readonly says: string
  readonly survey?: Parameters<typeof exampleSurvey>[0]
  readonly options?: Options
  readonly picks: Readonly<Record<string, unknown>>
}

const CHOICES: readonly Choice[] = [
  {
    says: 'an ordinary cluster needs no options',
    picks: {
      version: '1.14.1',
      namespace: 'kube-system',
      identity: 'irsa',
      access: 'access-entry',
      subnets: ['subnet-a', 'subnet-b'],
      zones: ['eu-west-1a', 'eu-west-1b'],
      securityGroup: 'sg-cluster',
      placement: ['system'],
      replicas: 2,
      installer: 'flux',
      image: 'al2023@v20261102',
    },
  },
  {
    says: 'an older Kubernetes gets the version that supports it',
    survey: { cluster: { version: '1.31' } },
    picks: { version: '1.14.1' },
  },
  { says: 'a chosen version loses its v', options: { version: 'v1.13.0' }, picks: { version: '1.13.0' } },
  {
    says: 'Pod Identity is used where only its agent is there',
    survey: { oidcProviders: [], addons: ['eks-pod-identity-agent'] },
    picks: { identity: 'pod-identity' },
  },
  {
    says: 'an agent that is no add-on counts',
    survey: { oidcProviders: [], kubernetes: { hasPodIdentityAgent: true } },
    picks: { identity: 'pod-identity' },
  },
  {
    says: 'a chosen identity wins',
    survey: { addons: ['eks-pod-identity-agent'] },
    options: { identity: 'pod-identity' },
    picks: { identity: 'pod-identity' },
  },
  {
    says: 'an existing namespace karpenter is used',
    survey: { kubernetes: { namespaces: ['karpenter'] } },
    picks: { namespace: 'karpenter' },
  },
  {
    says: 'aws-auth is used in the mode CONFIG_MAP',
    survey: { cluster: { authenticationMode: 'CONFIG_MAP' }, kubernetes: { mapRoles: '' } },
    picks: { access: 'aws-auth' },
  },
  {
    says: 'public subnets are left out',
    survey: { subnets: [subnet('subnet-a', 'a', { isPublic: true }), subnet('subnet-b', 'b')] },
    picks: { subnets: ['subnet-b'] },
  },
  {
    says: 'public subnets are used when there are no others',
    survey: { subnets: [subnet('subnet-a', 'a', { isPublic: true })] },
    picks: { subnets: ['subnet-a'] },
  },
  {
    says: 'subnets with the tag are used',
    survey: { subnets: [subnet('subnet-a', 'a'), subnet('subnet-c', 'c', { tags: { [KEY]: 'demo' } })] },
    picks: { subnets: ['subnet-c'] },
  },
  {
    says: 'an interrupted run goes on with all subnets that it chose',
    survey: {
      subnets: [subnet('subnet-a', 'a'), subnet('subnet-b', 'b', { tags: { [KEY]: 'demo' } }), subnet('subnet-c', 'c')],
      kubernetes: {
        journal: journal({
          phase: 'installing',
          made: ['subnet-a', 'subnet-b'].map((name) => ({ type: 'tag', name, of: KEY, value: 'demo' })),
        }),
      },
    },
    picks: { subnets: ['subnet-a', 'subnet-b'] },
  },
  {
    says: 'a zone without opt-in is left out',
    survey: { closedZones: ['eu-west-1b'] },
    picks: { subnets: ['subnet-a'], zones: ['eu-west-1a'] },
  },
  {
    says: 'subnets of the cluster serve where there is no node group',
    survey: { nodeGroups: [], kubernetes: { nodes: [{ name: 'own', labels: {} }] } },
    picks: { subnets: ['subnet-a', 'subnet-b'], placement: [], replicas: 1 },
  },
  {
    says: 'the group of the launch template is used',
    survey: { nodeGroups: [group('system', { securityGroups: ['sg-other'] })] },
    picks: { securityGroup: 'sg-other' },
  },
  {
    says: 'the group with the tag is used',
    survey: { securityGroups: [{ id: 'sg-x', name: 'x', tags: { [KEY]: 'demo' } }] },
    picks: { securityGroup: 'sg-x' },
  },
  {
    says: 'a tainted node group is no place',
    survey: { nodeGroups: [group('system'), group('gpu', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] })] },
    picks: { placement: ['system'] },
  },
  {
    says: 'a group for critical add-ons is a place',
    survey: { nodeGroups: [group('system', { taints: [{ key: 'CriticalAddonsOnly', effect: 'NoSchedule' }] })] },
    picks: { placement: ['system'] },
  },
  { says: 'one node gets one replica', survey: { kubernetes: { nodes: [node('one')] } }, picks: { replicas: 1 } },
  {
    says: 'nodes of Karpenter do not count',
    survey: {
      kubernetes: {
        nodes: [
          node('one'),
          { name: 'k', labels: { 'karpenter.sh/nodepool': 'x', 'eks.amazonaws.com/nodegroup': 'system' } },
        ],
      },
    },
    picks: { replicas: 1 },
  },
  {
    says: 'helm serves without Flux',
    survey: { helm: '/usr/bin/helm', kubernetes: { flux: undefined } },
    picks: { installer: 'helm', ownFlux: undefined },
  },
  {
    says: 'Flux is brought on request, also where helm would serve',
    survey: { helm: '/usr/bin/helm', kubernetes: { flux: undefined } },
    options: { withFlux: true },
    picks: { installer: 'flux', ownFlux: '2.9.5' },
  },
  {
    says: 'a Flux that runs is used and never brought again',
    options: { withFlux: true },
    picks: { installer: 'flux', ownFlux: undefined },
  },
  {
    says: 'a Flux that capt has begun to bring is finished without the flag',
    survey: {
      kubernetes: {
        flux: { version: '2.8.8', isRunning: false },
        fluxTraces: ['namespace flux-system'],
        journal: journal({ made: [{ type: 'flux', name: 'flux-system', value: '2.8.8' }] }),
      },
    },
    picks: { installer: 'flux', ownFlux: '2.8.8' },
  },
  {
    says: 'an upgrade takes the Flux that capt brought along',
    survey: {
      kubernetes: {
        flux: { version: '2.8.8', isRunning: true },
        journal: journal({ made: [{ type: 'flux', name: 'flux-system', value: '2.8.8' }] }),
      },
    },
    options: { isUpgrade: true },
    picks: { installer: 'flux', ownFlux: '2.9.5' },
  },
  {
    says: 'a release of helm stays with helm when Flux has come since',
    survey: {
      helm: '/usr/bin/helm',
      kubernetes: {
        journal: journal({ made: [{ type: 'release', name: 'karpenter', of: 'kube-system', value: 'helm' }] }),
      },
    },
    picks: { installer: 'helm', ownFlux: undefined },
  },
  {
    says: 'the installed version and image are kept',
    survey: { kubernetes: { journal: journal({ version: '1.13.0' }) } },
    picks: { version: '1.13.0', image: 'al2023@v20261001' },
  },
  {
    says: 'an upgrade chooses both again',
    survey: { kubernetes: { journal: journal({ version: '1.13.0' }) } },
    options: { isUpgrade: true },
    picks: { version: '1.14.1', image: 'al2023@v20261102' },
  },
  {
    says: 'names over the limit of IAM are cut and end in a hash',
    survey: { cluster: { name: 'c'.repeat(100) } },
    picks: { nodeRoleLength: 64 },
  },
]

interface Refused {
  readonly says: string
  readonly survey?: Parameters<typeof exampleSurvey>[0]
  readonly options?: Options
  readonly code: string
  readonly hint: RegExp
}

const REFUSED: readonly Refused[] = [
  {
    says: 'a cluster that is not active',
    survey: { cluster: { status: 'CREATING' } },
    code: 'CAPT_KARPENTER_CLUSTER',
    hint: /wait cluster-active/,
  },
  {
    says: 'EKS Auto Mode',
    survey: { cluster: { isAutoMode: true } },
    code: 'CAPT_KARPENTER_AUTO_MODE',
    hint: /Auto Mode off/,
  },
  {
    says: 'a partition without Karpenter',
    survey: { partition: 'aws-iso' },
    code: 'CAPT_PARTITION_UNSUPPORTED',
    hint: /aws-cn/,
  },
  {
    says: 'a version that the matrix forbids',
    options: { version: '1.0.7' },
    code: 'CAPT_MATRIX_FORBIDDEN',
    hint: /1\.14/,
  },
  {
    says: 'a version that must not be used',
    options: { version: '1.8.4' },
    code: 'CAPT_MATRIX_FORBIDDEN',
    hint: /1\.14/,
  },
  {
    says: 'an older version than the installed one',
    options: { version: '1.13.0', isUpgrade: true },
    survey: { kubernetes: { journal: journal() } },
    code: 'CAPT_KARPENTER_DOWNGRADE',
    hint: /newer/,
  },
  {
    says: 'another version at install',
    options: { version: '1.14.1' },
    survey: { kubernetes: { journal: journal({ version: '1.13.0' }) } },
    code: 'CAPT_KARPENTER_DOWNGRADE',
    hint: /karpenter upgrade demo/,
  },
  {
    says: 'no identity',
    survey: { oidcProviders: [] },
    code: 'CAPT_KARPENTER_NO_IDENTITY',
    hint: /eks-pod-identity-agent.*associate-iam-oidc-provider/,
  },
  {
    says: 'IRSA without a provider',
    survey: { oidcProviders: ['arn:aws:iam::1:oidc-provider/other'] },
    options: { identity: 'irsa' },
    code: 'CAPT_KARPENTER_NO_IDENTITY',
    hint: /pod-identity/,
  },
  {
    says: 'Pod Identity without an agent',
    options: { identity: 'pod-identity' },
    code: 'CAPT_KARPENTER_NO_IDENTITY',
    hint: /create-addon/,
  },
  {
    says: 'a foreign Karpenter',
    survey: { kubernetes: { karpenter: [deployment('karpenter')] } },
    code: 'CAPT_KARPENTER_PRESENT',
    hint: /helm uninstall karpenter -n karpenter/,
  },
  {
    says: 'another namespace than the installed one',
    options: { namespace: 'other' },
    survey: { kubernetes: { journal: journal() } },
    code: 'CAPT_KARPENTER_PRESENT',
    hint: /uninstall first/,
  },
  {
    says: 'an unfinished uninstall',
    survey: { kubernetes: { journal: journal({ phase: 'removing' }) } },
    code: 'CAPT_KARPENTER_JOURNAL',
    hint: /uninstall demo/,
  },
  {
    says: 'no node at all',
    survey: { nodeGroups: [], kubernetes: { nodes: [] } },
    code: 'CAPT_KARPENTER_NO_NODES',
    hint: /create-nodegroup/,
  },
  { says: 'an unknown node group', options: { nodeGroups: ['nope'] }, code: 'CAPT_KARPENTER_NO_NODES', hint: /system/ },
  {
    says: 'a Windows node group',
    survey: { nodeGroups: [group('win', { amiType: 'WINDOWS_CORE_2022_x86_64' })] },
    options: { nodeGroups: ['win'] },
    code: 'CAPT_KARPENTER_NO_NODES',
    hint: /another one/,
  },
  { says: 'an unknown subnet', options: { subnets: ['subnet-x'] }, code: 'CAPT_KARPENTER_SUBNETS', hint: /subnet-a/ },
  {
    says: 'a subnet in a zone without opt-in',
    survey: { closedZones: ['eu-west-1a'] },
    options: { subnets: ['subnet-a'] },
    code: 'CAPT_KARPENTER_SUBNETS',
    hint: /opt in/,
  },
  {
    says: "another cluster's subnet",
    survey: { subnets: [subnet('subnet-a', 'a', { tags: { [KEY]: 'prod' } })] },
    code: 'CAPT_KARPENTER_SUBNETS',
    hint: /--discovery-tag karpenter.sh\/discovery\/demo/,
  },
  {
    says: 'no subnet left',
    survey: { closedZones: ['eu-west-1a', 'eu-west-1b'] },
    code: 'CAPT_KARPENTER_SUBNETS',
    hint: /--subnet/,
  },
  {
    says: 'two security groups with the tag',
    survey: { securityGroups: ['sg-1', 'sg-2'].map((id) => ({ id, name: id, tags: { [KEY]: 'demo' } })) },
    code: 'CAPT_KARPENTER_SECURITY_GROUP',
    hint: /delete-tags --resources sg-2/,
  },
  {
    says: 'node groups with different security groups',
    survey: { nodeGroups: [group('a'), group('b', { securityGroups: ['sg-other'] })] },
    code: 'CAPT_KARPENTER_SECURITY_GROUP',
    hint: /--security-group sg-cluster/,
  },
  {
    says: 'an unknown security group',
    options: { securityGroup: 'sg-x' },
    code: 'CAPT_KARPENTER_SECURITY_GROUP',
    hint: /that VPC/,
  },
  {
    says: 'a second security group beside the tagged one',
    survey: {
      securityGroups: [
        { id: 'sg-x', name: 'x', tags: { [KEY]: 'demo' } },
        { id: 'sg-other', name: 'o', tags: {} },
      ],
    },
    options: { securityGroup: 'sg-other' },
    code: 'CAPT_KARPENTER_SECURITY_GROUP',
    hint: /delete-tags --resources sg-x/,
  },
  {
    says: "another cluster's security group",
    survey: { securityGroups: [{ id: 'sg-cluster', name: 'x', tags: { [KEY]: 'prod' } }] },
    code: 'CAPT_KARPENTER_SECURITY_GROUP',
    hint: /discovery-tag/,
  },
  {
    says: 'neither Flux nor helm',
    survey: { kubernetes: { flux: undefined } },
    code: 'CAPT_KARPENTER_NO_INSTALLER',
    hint: /helm 3\.8 .*--with-flux/,
  },
  {
    says: 'traces of a Flux that capt did not bring',
    survey: { kubernetes: { flux: undefined, fluxTraces: ['helmreleases.helm.toolkit.fluxcd.io'] } },
    options: { withFlux: true },
    code: 'CAPT_KARPENTER_FOREIGN',
    hint: /flux uninstall/,
  },
  {
    says: '--with-flux beside a release of helm',
    survey: {
      helm: '/usr/bin/helm',
      kubernetes: {
        journal: journal({ made: [{ type: 'release', name: 'karpenter', of: 'kube-system', value: 'helm' }] }),
      },
    },
    options: { withFlux: true },
    code: 'CAPT_KARPENTER_NO_INSTALLER',
    hint: /uninstall first/,
  },
  {
    says: 'a Flux that does not run, without helm',
    survey: { kubernetes: { flux: { version: '2.9.5', isRunning: false } } },
    code: 'CAPT_KARPENTER_NO_INSTALLER',
    hint: /--with-flux/,
  },
  {
    says: 'CONFIG_MAP without aws-auth',
    survey: { cluster: { authenticationMode: 'CONFIG_MAP' } },
    code: 'CAPT_KARPENTER_ACCESS',
    hint: /API_AND_CONFIG_MAP/,
  },
  {
    says: 'to replace a Cluster Autoscaler that is not there',
    options: { replaceAutoscaler: true },
    code: 'CAPT_KARPENTER_AUTOSCALER',
    hint: /leave --replace-cluster-autoscaler out/,
  },
  {
    says: 'to stop a Cluster Autoscaler that Flux keeps running',
    survey: {
      kubernetes: {
        autoscalers: [{ ...deployment('kube-system', 'cluster-autoscaler'), fluxOwner: 'HelmRelease a/b' }],
      },
    },
    options: { replaceAutoscaler: true },
    code: 'CAPT_KARPENTER_AUTOSCALER',
    hint: /replicas to 0 in HelmRelease a\/b/,
  },
  { says: 'no image', survey: { image: undefined }, code: 'CAPT_KARPENTER_IMAGE', hint: /region/ },
  {
    says: 'a foreign role with another trust',
    survey: { nodeRole: role('KarpenterNodeRole-demo', { Statement: [] }) },
    code: 'CAPT_KARPENTER_FOREIGN',
    hint: /capt changes only what it made/,
  },
]

describe('The plan of a Karpenter installation', () => {
  for (const { says, survey, options, picks } of CHOICES)
    it(`decides: ${says}`, () => {
      const { choices, refusals } = planInstall(exampleSurvey(survey), options)
      assert.deepEqual(refusals, [])
      const values: Record<string, unknown> = {
        ...Object.fromEntries(
          Object.entries(choices).map(([name, one]) => [
            name,
            one && typeof one === 'object' && 'reason' in one ? one.value : one,
          ]),
        ),
        nodeRoleLength: choices.names.nodeRole.length,
      }
      for (const [name, expected] of Object.entries(picks)) assert.deepEqual(values[name], expected, name)
    })

  for (const { says, survey, options, code, hint } of REFUSED)
    it(`refuses ${says}`, () => {
      const { steps, refusals } = planInstall(exampleSurvey(survey), options)
      const refusal = refusals.find((one) => one.code === code)
      assert.ok(refusal, JSON.stringify(refusals))
      assert.match(refusal.hint, hint)
      assert.notEqual(refusal.field, '')
      if (code !== 'CAPT_KARPENTER_FOREIGN') assert.deepEqual(steps, [])
    })

  it('creates everything in an order in which each thing finds what it needs', () => {
    const { steps } = planInstall(exampleSurvey())
    assert.ok(steps.every((step) => step.do === 'create'))
    const at = (type: string) => steps.findIndex(({ resource }) => resource.type === type)
    const order = [
      'node-role',
      'attached-policy',
      'instance-profile',
      'access-entry',
      'queue',
      'rule',
      'controller-role',
      'inline-policy',
      'tag',
      'release',
      'node-class',
      'node-pool',
    ]
    assert.deepEqual(
      [...order].sort((a, b) => at(a) - at(b)),
      order,
    )
    assert.ok(order.every((type) => at(type) >= 0))
  })

  it('removes a definition of Kubernetes later only if the chart brought it', () => {
    const name = 'capacitybuffers.autoscaling.x-k8s.io'
    const step = (sharedDefinitions: readonly string[], version?: string) => {
      const survey = exampleSurvey({ kubernetes: { sharedDefinitions } })
      const { steps } = planInstall(survey, version ? { version } : {})
      const found = steps.find(({ resource }) => resource.type === 'definition')
      return found && [found.resource.name, found.do, found.isOurs]
    }
    assert.deepEqual(step([]), [name, 'create', true])
    assert.deepEqual(step([name]), [name, 'keep', false])
    assert.equal(step([], '1.13.0'), undefined, 'older charts have none')
  })

  it('keeps a role that a person made as it should be, and says that it stays', () => {
    const { steps, refusals } = planInstall(exampleSurvey({ nodeRole: role('KarpenterNodeRole-demo', ec2Trust) }))
    assert.deepEqual(refusals, [])
    const [first] = steps
    assert.deepEqual([first?.do, first?.isOurs], ['keep', false])
    assert.match(first!.reason, /stays when capt uninstalls/)
  })

  it('changes what capt made and what differs', () => {
    const found = role('KarpenterNodeRole-demo', { Statement: [] }, { [OWNER_TAG]: 'demo' })
    assert.equal(planInstall(exampleSurvey({ nodeRole: found })).steps[0]?.do, 'change')
  })

  it('does not take over what the journal planned and somebody else made', () => {
    const made: ResourceRef[] = [{ type: 'node-role', name: 'KarpenterNodeRole-demo' }]
    const survey = exampleSurvey({
      nodeRole: role('KarpenterNodeRole-demo', { Statement: [] }),
      kubernetes: { journal: journal({ made }) },
    })
    assert.equal(planInstall(survey).refusals[0]?.code, 'CAPT_KARPENTER_FOREIGN')
  })

  it('is empty only when nothing is left to do', () => {
    assert.equal(isNothingToDo(planInstall(exampleSurvey())), false)
    assert.equal(isNothingToDo({ ...planInstall(exampleSurvey()), steps: [] }), true)
  })

  it('binds the controller to the node groups and keeps it off nodes of Karpenter, in one term', () => {
    const release = planInstall(exampleSurvey()).steps.find(({ resource }) => resource.type === 'release')!.resource
    const { affinity } = (
      release.desired as {
        values: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: { matchExpressions: { key: string }[] }[]
              }
            }
          }
        }
      }
    ).values
    const { nodeSelectorTerms } = affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
    assert.equal(nodeSelectorTerms.length, 1)
    assert.deepEqual(nodeSelectorTerms[0]!.matchExpressions.map(({ key }) => key).sort(), [
      'eks.amazonaws.com/nodegroup',
      'karpenter.sh/nodepool',
      'karpenter.sh/provisioner-name',
    ])
  })

  it('names every partition in its ARNs', () => {
    const china: Survey = exampleSurvey({
      partition: 'aws-cn',
      region: 'cn-north-1',
      oidcProviders: ['arn:aws-cn:iam::1:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC'],
    })
    assert.doesNotMatch(JSON.stringify(planInstall(china).steps), /arn:aws:/)
  })
})

describe('A plan as variables of the module', () => {
  const variablesOf = (options: Options) => {
    const survey = exampleSurvey({ helm: '/usr/bin/helm', kubernetes: { flux: undefined } })
    const [text] = Object.values(terraformVariables(survey, planInstall(survey, options), options))
    return JSON.parse(text!) as Record<string, unknown>
  }

  it('names the default pool with the zones and the image that were chosen', () => {
    const { default_node_pool, node_pool } = variablesOf({})
    assert.equal(default_node_pool, true)
    assert.deepEqual(node_pool, { zones: ['eu-west-1a', 'eu-west-1b'], image: 'al2023@v20261102' })
  })

  it('leaves pools of a file, and those that Flux has to precede, to others', () => {
    for (const options of [{ pools: [] }, { withFlux: true }])
      assert.equal(variablesOf(options)['default_node_pool'], false)
  })
})

describe('aws-auth', () => {
  const ARN = 'arn:aws:iam::1:role/KarpenterNodeRole-demo'
  const TABLES = [
    '',
    '- groups:\n  - system:nodes\n  rolearn: arn:aws:iam::1:role/a # kept\n  username: x\n',
    '  - rolearn: arn:aws:iam::1:role/a\n    username: x',
    '[{"rolearn": "arn:aws:iam::1:role/a"}]',
  ]
  for (const before of TABLES)
    it(`gets an entry and loses it again: ${JSON.stringify(before)}`, () => {
      const after = addNodeRole(before, ARN)
      assert.ok(hasNodeRole(after, ARN))
      assert.equal(addNodeRole(after, ARN), after)
      if (before.includes('- ')) assert.ok(after.startsWith(before))
      assert.equal(hasNodeRole(removeNodeRole(after, ARN), ARN), false)
      if (before.endsWith('\n')) assert.equal(removeNodeRole(after, ARN), before)
    })

  it('is refused when it is no list', () =>
    assert.throws(() => addNodeRole('a: b', ARN), { code: 'CAPT_KARPENTER_ACCESS' }))
})

describe('A journal', () => {
  it('is read back as it was written', () => assert.deepEqual(parseJournal(JSON.stringify(journal())), journal()))
  for (const text of [undefined, '', '{', '[]', '{"format":2,"made":[]}'])
    it(`that cannot be read is refused: ${text}`, () =>
      assert.throws(() => parseJournal(text), { code: 'CAPT_KARPENTER_JOURNAL' }))
})
