// Every field that the schema of CAPTCluster and CAPTControlPlane accepts has an effect: changed alone, it shows in what
// the runs are told. A field without a row here, or without an effect, fails.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPTCluster, CAPTControlPlane, type JsonSchema } from '#api'
import { jsonEqual } from '#lib'
import { statusOf } from '../src/controllers/cluster/status.ts'
import { vpcRequest } from '../src/controllers/cluster/variables.ts'
import { decide } from '../src/controllers/control-plane/decide.ts'
import { eksRequest, networkOf, regionOf } from '../src/controllers/control-plane/variables.ts'
import { anInfraSeen, aPlaneSeen } from './cluster-seen.ts'

type Spec = Record<string, unknown>

/** Paths of everything that can be set: `vpcConfig.name`, `controlPlaneConfig.addons`. References count as one. */
function leavesOf(schema: JsonSchema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const isReference = name.endsWith('Ref') || name === 'controlPlaneEndpoint'
    return field.properties && !isReference ? leavesOf(field, path) : [path]
  })
}

function withField(spec: Spec, path: string, value: unknown): Spec {
  const [head, ...rest] = path.split('.') as [string, ...string[]]
  if (rest.length === 0) return { ...spec, [head]: value }
  return { ...spec, [head]: withField((spec[head] ?? {}) as Spec, rest.join('.'), value) }
}

function effectsOf(infraSpec: Spec, planeSpec: Spec): Record<string, unknown> {
  const infra = anInfraSeen({ spec: infraSpec as CAPTCluster['spec'] })
  const report = statusOf(infra, { is: 'done' })
  const provisioned = { ...infra.object, status: report.fields } as CAPTCluster
  const network = networkOf(provisioned, 'demo')
  const seen = aPlaneSeen({ spec: planeSpec as CAPTControlPlane['spec'], infra: provisioned })
  const region = regionOf(seen.object, network) ?? ''
  return {
    vpc: vpcRequest(infra.object, 'demo'),
    eks: eksRequest(seen.object, 'demo', network, region),
    decision: decide(
      aPlaneSeen({ spec: planeSpec as CAPTControlPlane['spec'], infra: provisioned, isRequested: false }),
    ),
  }
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('/').reduce<unknown>((inner, key) => (inner as Spec | undefined)?.[key], value)
}

const MADE = { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' } }
const FOUND = { region: 'eu-west-1', existingVpcId: 'vpc-1' }
const PLANE = { version: '1.34', workspaceTemplateRef: { name: 'eks' } }
const ROLE = 'arn:aws:iam::123456789012:role/other'

// path, value, where it shows, what shows there, and the spec it is changed in.
const CLUSTER_ROWS: readonly (readonly [string, unknown, string, unknown, Spec?])[] = [
  ['region', 'us-gov-west-1', 'vpc/spec/variables/region', 'us-gov-west-1'],
  [
    'vpcTemplateRef',
    { name: 'other', namespace: 'shared' },
    'vpc/spec/templateRef',
    { name: 'other', namespace: 'shared' },
  ],
  ['existingVpcId', 'vpc-2', 'eks/spec/variables/vpc_id', 'vpc-2', FOUND],
  ['existingSubnets.private', ['subnet-9'], 'eks/spec/values/private_subnets', ['subnet-9'], FOUND],
  ['existingSubnets.public', ['subnet-8'], 'eks/spec/values/public_subnets', ['subnet-8'], FOUND],
  ['retainVpcOnDelete', true, 'vpc/spec/retainWorkspaceOnDelete', true],
  ['vpcConfig.name', 'net', 'vpc/spec/variables/vpc_name', 'net'],
  ['vpcConfig.cidr', '10.1.0.0/16', 'vpc/spec/variables/vpc_cidr', '10.1.0.0/16'],
  ['vpcConfig.singleNatGateway', false, 'vpc/spec/values/single_nat_gateway', false],
  ['additionalTags', { Team: 'a' }, 'vpc/spec/values/tags', { Team: 'a' }],
  ['identity.secretRef', { name: 'keys' }, 'vpc/spec/credentialsRef', { name: 'keys' }],
  ['identity.roleArn', ROLE, 'vpc/spec/values/assume_role_arn', ROLE],
  ['identity.externalId', 'x1', 'vpc/spec/values/assume_role_external_id', 'x1'],
  ['clusterName', 'team-a-demo', 'vpc/spec/variables/cluster_name', 'team-a-demo'],
  ['workspaceTemplateApplyName', 'net-1', 'vpc/name', 'net-1'],
]

const PLANE_ROWS: readonly (readonly [string, unknown, string, unknown])[] = [
  ['version', 'v1.35.2', 'eks/spec/variables/kubernetes_version', '1.35'],
  ['workspaceTemplateRef', { name: 'other' }, 'eks/spec/templateRef', { name: 'other', namespace: 'default' }],
  ['controlPlaneConfig.region', 'cn-north-1', 'eks/spec/variables/region', 'cn-north-1'],
  ['controlPlaneConfig.endpointAccess.public', false, 'eks/spec/variables/endpoint_public_access', 'false'],
  ['controlPlaneConfig.endpointAccess.private', true, 'eks/spec/variables/endpoint_private_access', 'true'],
  [
    'controlPlaneConfig.endpointAccess.publicCIDRs',
    ['192.0.2.0/24'],
    'eks/spec/values/endpoint_public_access_cidrs',
    ['192.0.2.0/24'],
  ],
  [
    'controlPlaneConfig.addons',
    [{ name: 'coredns', version: 'v1.2', configurationValues: '{"a":1}' }],
    'eks/spec/values/addons',
    { coredns: { version: 'v1.2', configuration_values: '{"a":1}' } },
  ],
  [
    'controlPlaneConfig.access',
    [{ principalARN: ROLE, policies: [{ name: 'AmazonEKSViewPolicy', namespaces: ['a'] }], kubernetesGroups: ['g'] }],
    'eks/spec/values/access',
    [
      {
        principal_arn: ROLE,
        kubernetes_groups: ['g'],
        policies: [{ name: 'AmazonEKSViewPolicy', namespaces: ['a'] }],
      },
    ],
  ],
  ['controlPlaneConfig.timeouts.controlPlaneTimeout', 45, 'eks/spec/timeout', '45m'],
  ['controlPlaneConfig.ensureSpotServiceLinkedRole', true, 'decision/actions/0/do', 'ensure-spot-role'],
  ['additionalTags', { Team: 'b' }, 'eks/spec/variables/tags_Team', 'b'],
  ['identity.secretRef', { name: 'keys' }, 'eks/spec/credentialsRef', { name: 'keys' }],
  ['identity.roleArn', ROLE, 'eks/spec/values/assume_role_arn', ROLE],
  ['identity.externalId', 'x1', 'eks/spec/values/assume_role_external_id', 'x1'],
  ['workspaceTemplateApplyName', 'cp-1', 'eks/name', 'cp-1'],
]

/** Fields that shape no run, and the test that shows what they do instead. */
const ELSEWHERE = [
  // cluster-decide.test.ts: stalls after that many minutes.
  'controlPlaneConfig.timeouts.vpcReadyTimeout',
  // cluster-life.test.ts: written by capt from the run's output.
  'controlPlaneEndpoint',
]

describe('every field of the spec (B13)', () => {
  it('has a row in the table', () => {
    const cluster = leavesOf(CAPTCluster.spec.schema)
    assert.deepEqual(cluster.toSorted(), CLUSTER_ROWS.map(([path]) => path).toSorted())
    const plane = leavesOf(CAPTControlPlane.spec.schema)
    assert.deepEqual(plane.toSorted(), [...PLANE_ROWS.map(([path]) => path), ...ELSEWHERE].toSorted())
  })

  for (const [path, value, where, expected, base = MADE] of CLUSTER_ROWS)
    it(`CAPTCluster ${path} shows in ${where}`, () => {
      const before = effectsOf(base, PLANE)
      const after = effectsOf(withField(base, path, value), PLANE)
      assert.deepEqual(valueAt(after, where), expected)
      assert.ok(!jsonEqual(valueAt(before, where), expected), 'it was so before')
    })

  for (const [path, value, where, expected] of PLANE_ROWS)
    it(`CAPTControlPlane ${path} shows in ${where}`, () => {
      const before = effectsOf(MADE, PLANE)
      const after = effectsOf(MADE, withField(PLANE, path, value))
      assert.deepEqual(valueAt(after, where), expected)
      assert.ok(!jsonEqual(valueAt(before, where), expected), 'it was so before')
    })

  it('lets the identity of the CAPTCluster reach the control plane too, unless that has its own', () => {
    const infra = withField(MADE, 'identity.roleArn', ROLE)
    assert.equal(valueAt(effectsOf(infra, PLANE), 'eks/spec/values/assume_role_arn'), ROLE)
    const own = withField(PLANE, 'identity.secretRef', { name: 'keys' })
    assert.equal(valueAt(effectsOf(infra, own), 'eks/spec/values/assume_role_arn'), undefined)
  })
})
