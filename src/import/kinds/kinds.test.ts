// What becomes of each kind and field of the older project.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { UnknownObject } from '#api'
import { mapObjects } from '../map.ts'
import {
  apply,
  at,
  existing,
  GROUP,
  group,
  MACHINE,
  machines,
  make,
  map,
  network,
  plane,
  template,
} from '../older-examples.ts'

/** What, the object, others beside it, the path that must have changed, and what is there now. */
type Row = readonly [string, UnknownObject, readonly UnknownObject[], string, unknown]
const CHANGED: readonly Row[] = [
  [
    'deletionPolicy Delete',
    template('a', { deletionPolicy: 'Delete' }),
    [],
    'spec.template.spec.deletionPolicy',
    undefined,
  ],
  [
    'managementPolicies',
    template('a', { managementPolicies: ['*'] }),
    [],
    'spec.template.spec.managementPolicies',
    undefined,
  ],
  [
    'providerConfigRef',
    template('a', { providerConfigRef: { name: 'aws', policy: { resolve: 'Always' } } }),
    [],
    'spec.template.spec.providerConfigRef',
    undefined,
  ],
  [
    'publishConnectionDetailsTo',
    template('a', { publishConnectionDetailsTo: { name: 'out' } }),
    [],
    'spec.template.spec.writeConnectionSecretToRef',
    { name: 'out' },
  ],
  [
    'the own namespace of a connection Secret',
    template('a', { writeConnectionSecretToRef: { name: 'x', namespace: 'default' } }),
    [],
    'spec.template.spec.writeConnectionSecretToRef',
    { name: 'x' },
  ],
  [
    "the name of the VPC's connection Secret",
    template(
      'a',
      {},
      {
        varFiles: [
          {
            source: 'SecretKey',
            secretKeyRef: { namespace: 'default', name: '${cluster_name}-vpc-vpc-connection', key: 'vpc_config' },
          },
        ],
      },
    ),
    [],
    'spec.template.spec.forProvider.varFiles',
    [{ source: 'SecretKey', secretKeyRef: { name: '${cluster_name}-vpc-connection', key: 'vpc_config' } }],
  ],
  [
    'the region of a ProviderConfig',
    template('a', { providerConfigRef: { name: 'aws' } }),
    [make('ProviderConfig', 'aws', { spec: { configuration: 'provider "aws" {\n  region = "eu-west-1"\n}' } })],
    'spec.template.spec.forProvider.env',
    [{ name: 'AWS_REGION', value: 'eu-west-1' }],
  ],
  [
    'the namespace of a templateRef',
    apply('a', { templateRef: { name: 'vpc', namespace: 'default' } }),
    [],
    'spec.templateRef',
    { name: 'vpc' },
  ],
  [
    'waitForSecret',
    apply('a', { waitForSecret: { name: 'x', namespace: 'default' } }),
    [],
    'spec.waitForSecret',
    undefined,
  ],
  ['dependencies', apply('a', { dependencies: [] }), [], 'spec.dependencies', undefined],
  [
    'waitForSecrets',
    apply('a', { waitForSecrets: [{ name: 'x', namespace: 'default' }] }),
    [],
    'spec.waitForSecrets',
    [{ name: 'x' }],
  ],
  [
    'waitForWorkspaces',
    apply('a', { waitForWorkspaces: [{ name: 'b' }, { name: 'demo-kubeconfig' }] }),
    [apply('b-apply'), apply('demo-kubeconfig-apply')],
    'spec.waitForWorkspaces',
    [{ name: 'b-apply' }],
  ],
  [
    'an apply of an orphaning template',
    apply('a'),
    [template('vpc', { deletionPolicy: 'Orphan' })],
    'spec.retainWorkspaceOnDelete',
    true,
  ],
  [
    'an apply of an observing template',
    apply('a'),
    [template('vpc', { managementPolicies: ['Observe'] })],
    'spec.suspend',
    true,
  ],
  [
    'an apply of a template with a ProviderConfig',
    apply('a'),
    [template('vpc', { providerConfigRef: { name: 'aws' } })],
    'spec.credentialsRef',
    { name: 'aws' },
  ],
  [
    'a CAPTCluster of an orphaning template',
    network(),
    [template('vpc', { deletionPolicy: 'Orphan' })],
    'spec.retainVpcOnDelete',
    true,
  ],
  [
    'a CAPTCluster with a ProviderConfig',
    network(),
    [template('vpc', { providerConfigRef: { name: 'aws' } })],
    'spec.identity',
    { secretRef: { name: 'aws' } },
  ],
  [
    'retainVpcOnDelete of an existing VPC',
    existing({ retainVpcOnDelete: true }),
    [],
    'spec.retainVpcOnDelete',
    undefined,
  ],
  ['vpcConfig of an existing VPC', existing({ vpcConfig: { name: 'x' } }), [], 'spec.vpcConfig', undefined],
  [
    'the endpoint of a Cluster with a scheme',
    make('Cluster', 'demo', { spec: { controlPlaneEndpoint: { host: 'https://a', port: 443 } } }),
    [],
    'spec.controlPlaneEndpoint',
    undefined,
  ],
  [
    'the endpoint of a control plane',
    plane({ controlPlaneEndpoint: { host: 'https://a', port: 443 } }),
    [],
    'spec.controlPlaneEndpoint',
    undefined,
  ],
  [
    'the Spot role',
    plane(),
    [template('spot-role-check')],
    'spec.controlPlaneConfig.ensureSpotServiceLinkedRole',
    true,
  ],
  [
    'add-ons that were ignored',
    plane({ controlPlaneConfig: { region: 'eu-west-1', addons: [{ name: 'x' }] } }),
    [],
    'spec.controlPlaneConfig.addons',
    [{ name: 'x' }],
  ],
  [
    'the version in a template',
    make('CAPTControlPlaneTemplate', 'a', {
      spec: { template: { spec: { version: '1.31', workspaceTemplateRef: { name: 'eks' } } } },
    }),
    [],
    'spec.template.spec.version',
    undefined,
  ],
  [
    'the name in a template',
    make('CAPTControlPlaneTemplate', 'a', {
      spec: {
        template: { metadata: { name: 'x', labels: { a: 'b' } }, spec: { workspaceTemplateRef: { name: 'eks' } } },
      },
    }),
    [],
    'spec.template.metadata',
    { labels: { a: 'b' } },
  ],
  [
    'a machine without a Cluster',
    machines('CAPTMachine', MACHINE),
    [network()],
    'metadata.labels',
    { 'cluster.x-k8s.io/cluster-name': 'demo' },
  ],
  [
    'a set without a selector',
    machines('CAPTMachineSet', { replicas: 2, template: { spec: MACHINE } }),
    [network()],
    'spec.selector',
    { matchLabels: { 'capt.appthrust.com/imported-set': 'workers' } },
  ],
  [
    'an unknown strategy',
    machines('CAPTMachineDeployment', {
      strategy: { type: 'OnDelete' },
      template: { metadata: { labels: { a: 'b' } }, spec: MACHINE },
    }),
    [network()],
    'spec.strategy.type',
    'RollingUpdate',
  ],
  [
    'a node group',
    group(GROUP),
    [],
    'spec.template.spec',
    {
      workspaceTemplateRef: { name: 'n' },
      instanceTypes: ['t3.medium'],
      scaling: { minSize: 1, maxSize: 5 },
      labels: { team: 'a' },
      taints: [{ key: 'gpu', effect: 'NoSchedule' }],
      additionalTags: { Team: 'a' },
    },
  ],
]

describe('an import changes', () => {
  for (const [what, object, others, path, value] of CHANGED)
    it(what, () => {
      const { outcomes } = map([object, ...others])
      const [outcome] = outcomes
      assert.equal(outcome?.is, 'changed', outcome?.reason)
      assert.deepEqual(at(outcome?.objects[0], path), value)
      assert.ok(outcome?.changes.some((one) => path.startsWith(one.path.split('[')[0]!) || one.path.startsWith(path)))
    })

  it('a spelling, and reports it', () => {
    const { outcomes } = mapObjects([{ object: network(), speltBefore: 'CaptCluster' }], { namespace: 'default' })
    assert.deepEqual(
      [outcomes[0]?.subject, outcomes[0]?.changes[0]],
      ['CaptCluster/demo', { path: 'kind', what: 'CAPTCluster instead of CaptCluster' }],
    )
  })
})

const REFUSED: readonly (readonly [string, UnknownObject, readonly UnknownObject[], RegExp, RegExp])[] = [
  ['Fargate', group({ nodeType: 'Fargate' }), [], /no kind whose nodes are Fargate/, /CAPTMachinePool or Karpenter/],
  ['an unknown nodeType', group({ nodeType: 'Spot' }), [], /nodeType Spot/, /ManagedNodeGroup/],
  ['a machine of no Cluster', machines('CAPTMachine', MACHINE), [], /names no Cluster/, /cluster-name/],
  [
    'a Workspace that is not paused',
    make('Workspace', 'demo-vpc'),
    [],
    /Crossplane still works on it/,
    /crossplane\.io\/paused=true/,
  ],
  [
    'an object that is being deleted',
    make('CAPTCluster', 'demo', {}, { deletionTimestamp: '2025-01-01T00:00:00Z' }),
    [],
    /being deleted/,
    /wait/,
  ],
  ['two VPCs', network({ existingVpcId: 'vpc-1' }), [], /exactly one of vpcTemplateRef and existingVpcId/, /./],
  [
    'a region that Terraform never used',
    network(),
    [
      template('vpc', { providerConfigRef: { name: 'aws' } }),
      make('ProviderConfig', 'aws', { spec: { configuration: 'region = "us-east-1"' } }),
    ],
    /made everything in us-east-1/,
    /set spec\.region to us-east-1/,
  ],
]

describe('an import refuses', () => {
  for (const [what, object, others, reason, hint] of REFUSED)
    it(what, () => {
      const [outcome] = map([object, ...others]).outcomes
      assert.equal(outcome?.is, 'refused')
      assert.match(outcome?.reason ?? '', reason)
      assert.match(outcome?.hint ?? '', hint)
      assert.deepEqual(outcome?.objects, [])
    })
})

describe('an import drops', () => {
  for (const object of [
    template('eks-kubeconfig-template'),
    template('spot-role-create'),
    apply('demo-kubeconfig-apply'),
    apply('demo-spot-role-check'),
    make('Workspace', 'demo-vpc', {}, { annotations: { 'crossplane.io/paused': 'true' } }),
    make('ProviderConfig', 'aws'),
    make('Secret', 'demo-kubeconfig'),
    make('Secret', 'demo-eks-connection'),
  ])
    it(`${object.kind} ${object.metadata.name}, with the reason`, () => {
      const [outcome] = map([object]).outcomes
      assert.equal(outcome?.is, 'dropped')
      assert.match(outcome?.reason ?? '', /capt|credentials/)
    })
})

describe('an import keeps', () => {
  it('what the older project and capt write the same way, without what a server added', () => {
    const metadata = { uid: 'u', resourceVersion: '1', finalizers: ['x'], ownerReferences: [], labels: { a: 'b' } }
    const [outcome] = map([
      make('CAPTCluster', 'demo', { spec: network()['spec'], status: { ready: true } }, metadata),
    ]).outcomes
    assert.equal(outcome?.is, 'kept')
    assert.deepEqual(outcome?.objects, [
      make('CAPTCluster', 'demo', { spec: network()['spec'] }, { labels: { a: 'b' } }),
    ])
  })

  it('Secrets and ConfigMaps of people', () => {
    assert.deepEqual(map([make('Secret', 'aws', { data: {} })]).outcomes[0]?.is, 'kept')
  })
})
