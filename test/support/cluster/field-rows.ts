// The fields of CAPTCluster and CAPTControlPlane that reach Terraform, one row each. Two suites read them: each field
// alone has its effect, and the shipped templates declare what all of them together send.

export type Spec = Record<string, unknown>

export function withField(spec: Spec, path: string, value: unknown): Spec {
  const [head, ...rest] = path.split('.') as [string, ...string[]]
  if (rest.length === 0) return { ...spec, [head]: value }
  return { ...spec, [head]: withField((spec[head] ?? {}) as Spec, rest.join('.'), value) }
}

export const MADE = { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' } }
const FOUND = { region: 'eu-west-1', existingVpcId: 'vpc-1' }
export const PLANE = { version: '1.34', workspaceTemplateRef: { name: 'eks' } }
export const ROLE = 'arn:aws:iam::123456789012:role/other'

/** Path, value, where it shows, what shows there, and the spec it is changed in. */
export const CLUSTER_ROWS: readonly (readonly [string, unknown, string, unknown, Spec?])[] = [
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

export const PLANE_ROWS: readonly (readonly [string, unknown, string, unknown])[] = [
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
  ['controlPlaneConfig.compute', 'AutoMode', 'eks/spec/values/auto_mode', true],
  ['controlPlaneConfig.karpenter.namespace', 'karpenter', 'eks/spec/values/karpenter_namespace', 'karpenter'],
  ['controlPlaneConfig.karpenter.identity', 'IRSA', 'eks/spec/values/identity', 'irsa'],
  [
    'controlPlaneConfig.values',
    { karpenter_namespace: 'karpenter' },
    'eks/spec/values/karpenter_namespace',
    'karpenter',
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

/** A spec with every field set that can be set beside the others. */
export const wholeClusterSpec = (): Spec =>
  CLUSTER_ROWS.filter(([, , , , base]) => base === undefined).reduce(
    (spec, [path, value]) => withField(spec, path, value),
    MADE as Spec,
  )
export const wholePlaneSpec = (): Spec =>
  PLANE_ROWS.reduce((spec, [path, value]) => withField(spec, path, value), PLANE as Spec)
