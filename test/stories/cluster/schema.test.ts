// What the schema of the provider's kinds refuses before anything runs, and in which words.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ALL_KINDS,
  CAPTCluster,
  CAPTClusterTemplate,
  CAPTControlPlane,
  CAPTControlPlaneTemplate,
  checkObject,
  type Kind,
  type UnknownObject,
} from '#api'

const of = (kind: Kind, spec: unknown): UnknownObject => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { name: 'demo', namespace: 'default' },
  spec,
})

function faultsOf(kind: Kind, spec: unknown, old?: unknown): string {
  const { faults } = checkObject(kind, of(kind, spec), old === undefined ? undefined : of(kind, old))
  return faults.map(({ path, message }) => `${path}: ${message}`).join('\n')
}

const MADE = { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' } }
const FOUND = { region: 'eu-west-1', existingVpcId: 'vpc-0123' }
const PLANE = { version: '1.34', workspaceTemplateRef: { name: 'eks' } }

describe('the schema of CAPTCluster', () => {
  for (const region of [
    'eu-west-1',
    'us-gov-west-1',
    'cn-northwest-1',
    'us-iso-east-1',
    'us-isob-east-1',
    'eu-isoe-west-1',
    'eusc-de-east-1',
    'ap-southeast-7',
    'mx-central-1',
    'il-central-1',
  ])
    it(`takes the region ${region}`, () => assert.equal(faultsOf(CAPTCluster, { ...MADE, region }), ''))

  for (const [what, spec, complaint] of [
    [
      'both VPC fields',
      { ...MADE, existingVpcId: 'vpc-1' },
      /exactly one of vpcTemplateRef and existingVpcId must be set \(both are\)/,
    ],
    ['neither VPC field', { region: 'eu-west-1' }, /must be set \(neither is\)/],
    ['no region', { vpcTemplateRef: { name: 'vpc' } }, /spec\.region/],
    ['an unknown region', { ...MADE, region: 'eu-wst-1' }, /spec\.region/],
    ['a region of nowhere', { ...MADE, region: 'mars-north-1' }, /spec\.region/],
    ['a malformed CIDR', { ...MADE, vpcConfig: { cidr: '10.0.0.300/16' } }, /spec\.vpcConfig\.cidr/],
    ['a VPC that is too large', { ...MADE, vpcConfig: { cidr: '10.0.0.0/8' } }, /spec\.vpcConfig\.cidr/],
    [
      'retention of a VPC that is not ours',
      { ...FOUND, retainVpcOnDelete: true },
      /retainVpcOnDelete needs vpcTemplateRef/,
    ],
    [
      'subnets without their VPC',
      { ...MADE, existingSubnets: { private: ['subnet-1'] } },
      /existingSubnets needs existingVpcId/,
    ],
    ['settings for an existing VPC', { ...FOUND, vpcConfig: { name: 'x' } }, /vpcConfig needs vpcTemplateRef/],
    ['an external id without a role', { ...MADE, identity: { externalId: 'abc' } }, /externalId needs roleArn/],
    ['an identity that says nothing', { ...MADE, identity: {} }, /spec\.identity/],
    [
      'something that is no role',
      { ...MADE, identity: { roleArn: 'arn:aws:iam::1:user/x' } },
      /spec\.identity\.roleArn/,
    ],
    ['a field that nobody reads', { ...MADE, controlPlaneEndpoint: { host: 'x', port: 1 } }, /controlPlaneEndpoint/],
  ] as const)
    it(`refuses ${what}`, () => assert.match(faultsOf(CAPTCluster, spec), complaint))

  for (const [what, before, after, complaint] of [
    ['another region', MADE, { ...MADE, region: 'us-east-1' }, /region of a cluster cannot be changed/],
    ['another VPC', FOUND, { ...FOUND, existingVpcId: 'vpc-9' }, /cannot move to another VPC/],
    ['a made VPC for an existing one', FOUND, MADE, /cannot switch between/],
    ['an existing VPC for a made one', MADE, FOUND, /cannot switch between/],
    [
      'another address block',
      { ...MADE, vpcConfig: { cidr: '10.0.0.0/16' } },
      { ...MADE, vpcConfig: { cidr: '10.1.0.0/16' } },
      /address block of a VPC cannot be changed/,
    ],
    [
      'an address block where none was',
      MADE,
      { ...MADE, vpcConfig: { cidr: '10.1.0.0/16' } },
      /cidr cannot be added or removed/,
    ],
    ['another name in AWS', MADE, { ...MADE, clusterName: 'x' }, /clusterName cannot be changed/],
    [
      'another apply',
      MADE,
      { ...MADE, workspaceTemplateApplyName: 'x' },
      /workspaceTemplateApplyName cannot be changed/,
    ],
  ] as const)
    it(`refuses to take ${what}`, () => assert.match(faultsOf(CAPTCluster, after, before), complaint))

  it('takes another template, another name and other tags', () => {
    const after = { ...MADE, vpcTemplateRef: { name: 'vpc-v2' }, vpcConfig: { name: 'x' }, additionalTags: { a: 'b' } }
    assert.equal(faultsOf(CAPTCluster, after, MADE), '')
  })
})

describe('the schema of CAPTControlPlane', () => {
  for (const version of ['1.34', 'v1.34', 'v1.34.2', '1.34.2', 'v1.34.2-eks-1', 'v1.34.2+build.1'])
    it(`takes version ${version}`, () => assert.equal(faultsOf(CAPTControlPlane, { ...PLANE, version }), ''))

  for (const version of ['latest', '1', '134', 'v2', '1.x', ' 1.34', '1.34.2.1'])
    it(`refuses version "${version}"`, () =>
      assert.match(faultsOf(CAPTControlPlane, { ...PLANE, version }), /spec\.version/))

  const access = (endpointAccess: object) => ({ ...PLANE, controlPlaneConfig: { endpointAccess } })
  for (const [what, spec, complaint] of [
    ['a malformed CIDR', access({ publicCIDRs: ['10.0.0.0/33'] }), /publicCIDRs/],
    ['an address without a length', access({ publicCIDRs: ['192.0.2.1'] }), /publicCIDRs/],
    ['an endpoint that nobody reaches', access({ public: false, private: false }), /nobody would reach the API server/],
    [
      'CIDRs of an endpoint that is not public',
      access({ public: false, publicCIDRs: ['192.0.2.0/24'] }),
      /publicCIDRs needs a public endpoint/,
    ],
    [
      'an add-on twice',
      { ...PLANE, controlPlaneConfig: { addons: [{ name: 'coredns' }, { name: 'coredns' }] } },
      /addons/,
    ],
    [
      'no time at all',
      { ...PLANE, controlPlaneConfig: { timeouts: { controlPlaneTimeout: 0 } } },
      /controlPlaneTimeout/,
    ],
    ['no template', { version: '1.34' }, /workspaceTemplateRef/],
    ['no template of a managed one', { version: '1.34', policy: 'Managed' }, /workspaceTemplateRef must be set/],
    ['a template of an adopted one', { ...PLANE, policy: 'Adopted' }, /must be left out with policy Adopted/],
    ['another policy', { ...PLANE, policy: 'Shared' }, /policy/],
    ['an unknown compute', { ...PLANE, controlPlaneConfig: { compute: 'Fargate' } }, /compute/],
    [
      'settings of Karpenter in Auto Mode',
      { ...PLANE, controlPlaneConfig: { compute: 'AutoMode', karpenter: { namespace: 'karpenter' } } },
      /karpenter has no effect with compute: AutoMode/,
    ],
  ] as const)
    it(`refuses ${what}`, () => assert.match(faultsOf(CAPTControlPlane, spec), complaint))

  const config = (controlPlaneConfig: object) => ({ ...PLANE, controlPlaneConfig })
  for (const [what, before, after, complaint] of [
    ['Auto Mode where node groups are', PLANE, config({ compute: 'AutoMode' }), /compute cannot be changed/],
    ['node groups for Auto Mode', config({ compute: 'AutoMode' }), PLANE, /compute cannot be changed/],
    [
      'another namespace of Karpenter',
      config({ karpenter: { identity: 'IRSA' } }),
      config({ karpenter: { namespace: 'karpenter' } }),
      /karpenter\.namespace cannot be changed/,
    ],
  ] as const)
    it(`refuses to take ${what}`, () => assert.match(faultsOf(CAPTControlPlane, after, before), complaint))

  it('takes the default of compute and of the namespace written out, and another identity', () => {
    const after = config({ compute: 'NodeGroups', karpenter: { namespace: 'kube-system', identity: 'IRSA' } })
    assert.equal(faultsOf(CAPTControlPlane, after, PLANE), '')
  })

  it('takes an adopted control plane, and keeps its policy', () => {
    const adopted = { version: '1.34', policy: 'Adopted' }
    assert.equal(faultsOf(CAPTControlPlane, adopted), '')
    assert.equal(faultsOf(CAPTControlPlane, { ...adopted, version: '1.35' }, adopted), '')
    assert.equal(faultsOf(CAPTControlPlane, { ...PLANE, policy: 'Managed' }, PLANE), '')
    assert.match(faultsOf(CAPTControlPlane, PLANE, adopted), /policy cannot be changed/)
    assert.match(faultsOf(CAPTControlPlane, adopted, PLANE), /policy cannot be changed/)
  })

  it('takes IPv4 and IPv6 blocks', () => {
    assert.equal(
      faultsOf(CAPTControlPlane, access({ publicCIDRs: ['0.0.0.0/0', '192.0.2.0/24', '2001:db8::/32', '::/0'] })),
      '',
    )
  })

  it('fills in the timeouts that are left out', () => {
    const { object } = checkObject(
      CAPTControlPlane,
      of(CAPTControlPlane, { ...PLANE, controlPlaneConfig: { timeouts: {} } }),
    )
    assert.deepEqual(object.spec.controlPlaneConfig?.timeouts, { controlPlaneTimeout: 30, vpcReadyTimeout: 15 })
  })
})

describe('the templates of a ClusterClass', () => {
  it('require nothing that only one cluster could know', () => {
    assert.equal(faultsOf(CAPTClusterTemplate, { template: { spec: {} } }), '')
    assert.equal(
      faultsOf(CAPTControlPlaneTemplate, { template: { spec: { workspaceTemplateRef: { name: 'eks' } } } }),
      '',
    )
  })

  it('take labels and annotations for what is made from them', () => {
    const metadata = { labels: { a: 'b' }, annotations: { c: 'd' } }
    assert.equal(faultsOf(CAPTClusterTemplate, { template: { metadata, spec: MADE } }), '')
  })

  it('refuse what no cluster could have', () => {
    assert.match(
      faultsOf(CAPTClusterTemplate, { template: { spec: { ...MADE, existingVpcId: 'vpc-1' } } }),
      /at most one/,
    )
    assert.match(faultsOf(CAPTControlPlaneTemplate, { template: { spec: { ...PLANE } } }), /version/)
  })
})

describe('machines and machine deployments', () => {
  it('are served with a controller that keeps them true', () => {
    const reported = ALL_KINDS.filter(({ kind, status }) => /machine/i.test(kind) && status !== undefined)
    assert.ok(reported.some(({ kind }) => kind === 'CAPTMachineDeployment'))
    assert.deepEqual(
      reported.filter(({ reconciledBy }) => reconciledBy === undefined).map(({ kind }) => kind),
      [],
    )
  })
})
