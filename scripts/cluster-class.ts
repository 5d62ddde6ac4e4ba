// The ClusterClass `capt`: what people choose per cluster is a variable with a schema, and patches carry it into the
// templates. What they choose per pool of nodes is in cluster-class-pools.ts, and per group of machines in
// cluster-class-machines.ts. The names of the WorkspaceTemplates are variables too, so that a team's own templates need no
// class of their own.
import { MACHINE_PATCHES, MACHINE_VARIABLES, MACHINE_WORKERS, machineTemplates } from './cluster-class-machines.ts'
import { NODE_POOL_PATCHES, NODE_POOL_VARIABLES, NODE_POOL_WORKERS, nodePoolTemplates } from './cluster-class-pools.ts'

export type Manifest = Record<string, unknown> & { metadata: Record<string, unknown> }

export const CLUSTER_CLASS = 'capt'

const CAPI = 'cluster.x-k8s.io/v1beta1'
const INFRA = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1', kind: 'CAPTClusterTemplate' }
const CONTROL_PLANE = { apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1', kind: 'CAPTControlPlaneTemplate' }
const metadata = { name: CLUSTER_CLASS }

export function clusterClass(): Manifest[] {
  return [
    {
      apiVersion: CAPI,
      kind: 'ClusterClass',
      metadata,
      spec: {
        infrastructure: { ref: { ...INFRA, name: CLUSTER_CLASS } },
        controlPlane: { ref: { ...CONTROL_PLANE, name: CLUSTER_CLASS } },
        workers: { machineDeployments: MACHINE_WORKERS, machinePools: NODE_POOL_WORKERS },
        variables: Object.entries({ ...VARIABLES, ...NODE_POOL_VARIABLES, ...MACHINE_VARIABLES }).map(
          ([name, { isRequired = false, ...schema }]) => ({
            name,
            required: isRequired,
            schema: { openAPIV3Schema: schema },
          }),
        ),
        patches: [...PATCHES, ...NODE_POOL_PATCHES, ...MACHINE_PATCHES],
      },
    },
    { ...INFRA, metadata, spec: { template: { spec: { vpcTemplateRef: { name: 'vpc' } } } } },
    {
      ...CONTROL_PLANE,
      metadata,
      spec: {
        template: { spec: { workspaceTemplateRef: { name: 'eks-controlplane' }, controlPlaneConfig: {} } },
      },
    },
    ...nodePoolTemplates(),
    ...machineTemplates(),
  ]
}

export interface Schema {
  readonly description: string
  /** Whether a topology must set the variable. */
  readonly isRequired?: boolean
  readonly [keyword: string]: unknown
}

const name = { type: 'string', minLength: 1, maxLength: 253 }
const words = { type: 'array', items: { type: 'string' } }

const VARIABLES: Readonly<Record<string, Schema>> = {
  region: {
    description: 'AWS region, of any partition.',
    isRequired: true,
    type: 'string',
    pattern: '^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$',
    example: 'eu-west-1',
  },
  vpcTemplate: { description: 'WorkspaceTemplate that makes the VPC.', ...name, default: 'vpc' },
  controlPlaneTemplate: {
    description: 'WorkspaceTemplate that makes the control plane.',
    ...name,
    default: 'eks-controlplane',
  },
  vpcCidr: {
    description: 'Address block of the VPC, /16 to /20.',
    type: 'string',
    pattern: '^([0-9]{1,3}\\.){3}[0-9]{1,3}/(1[6-9]|20)$',
    default: '10.0.0.0/16',
  },
  singleNatGateway: {
    description: 'One NAT gateway for all zones instead of one per zone.',
    type: 'boolean',
    default: true,
  },
  retainVpc: { description: 'Keep the VPC when the cluster is deleted.', type: 'boolean', default: false },
  existingVpcId: {
    description: 'VPC that exists already and is only used; no VPC is made then.',
    type: 'string',
    pattern: '^vpc-[0-9a-z]+$',
  },
  existingSubnets: {
    description: 'Subnets of the existing VPC; looked up by their role tags when left out.',
    type: 'object',
    properties: { private: words, public: words },
  },
  endpointAccess: {
    description: 'Who reaches the API server.',
    type: 'object',
    default: {},
    properties: {
      public: { type: 'boolean', default: true },
      private: { type: 'boolean', default: true },
      publicCIDRs: words,
    },
  },
  addons: {
    description: 'EKS add-ons beside those that nodes need, or other settings for those.',
    type: 'array',
    items: {
      type: 'object',
      required: ['name'],
      properties: { name, version: { type: 'string' }, configurationValues: { type: 'string' } },
    },
  },
  compute: {
    description: 'Where pods run: node groups and Karpenter, or EKS Auto Mode. It cannot be changed.',
    type: 'string',
    enum: ['NodeGroups', 'AutoMode'],
  },
  roleArn: {
    description: 'IAM role that capt assumes for this cluster.',
    type: 'string',
    pattern: '^arn:aws(-[a-z]+)*:iam::[0-9]{12}:role/.+$',
  },
  tags: {
    description: 'AWS tags of everything that is made.',
    type: 'object',
    additionalProperties: { type: 'string', maxLength: 256 },
    default: {},
  },
}

type JsonPatch = { readonly op: 'add' | 'replace' | 'remove'; readonly path: string; readonly valueFrom?: object }
const from = (op: 'add' | 'replace', path: string, variable: string): JsonPatch => ({
  op,
  path: `/spec/template/spec/${path}`,
  valueFrom: { variable },
})
const onCluster = (jsonPatches: readonly JsonPatch[]) => ({
  selector: { ...INFRA, matchResources: { infrastructureCluster: true } },
  jsonPatches,
})
const onControlPlane = (jsonPatches: readonly JsonPatch[]) => ({
  selector: { ...CONTROL_PLANE, matchResources: { controlPlane: true } },
  jsonPatches,
})
const when = (condition: string) => ({ enabledIf: `{{ if ${condition} }}true{{ end }}` })

const PATCHES = [
  {
    name: 'network',
    description: 'Region and tags of everything.',
    definitions: [onCluster([from('add', 'region', 'region'), from('add', 'additionalTags', 'tags')])],
  },
  {
    name: 'new-vpc',
    description: 'A VPC made from a template.',
    ...when('not .existingVpcId'),
    definitions: [
      onCluster([
        from('replace', 'vpcTemplateRef/name', 'vpcTemplate'),
        {
          op: 'add',
          path: '/spec/template/spec/vpcConfig',
          valueFrom: { template: 'cidr: {{ .vpcCidr }}\nsingleNatGateway: {{ .singleNatGateway }}\n' },
        },
        from('add', 'retainVpcOnDelete', 'retainVpc'),
      ]),
    ],
  },
  {
    name: 'existing-vpc',
    description: 'A VPC that exists already.',
    ...when('.existingVpcId'),
    definitions: [
      onCluster([
        { op: 'remove', path: '/spec/template/spec/vpcTemplateRef' },
        from('add', 'existingVpcId', 'existingVpcId'),
      ]),
    ],
  },
  {
    name: 'existing-subnets',
    description: 'Subnets of that VPC.',
    ...when('.existingSubnets'),
    definitions: [onCluster([from('add', 'existingSubnets', 'existingSubnets')])],
  },
  {
    name: 'control-plane',
    description: 'Template, tags and access of the control plane.',
    definitions: [
      onControlPlane([
        from('replace', 'workspaceTemplateRef/name', 'controlPlaneTemplate'),
        from('add', 'controlPlaneConfig/endpointAccess', 'endpointAccess'),
        from('add', 'additionalTags', 'tags'),
      ]),
    ],
  },
  {
    name: 'addons',
    description: 'EKS add-ons.',
    ...when('.addons'),
    definitions: [onControlPlane([from('add', 'controlPlaneConfig/addons', 'addons')])],
  },
  {
    name: 'compute',
    description: 'Where pods run.',
    ...when('.compute'),
    definitions: [onControlPlane([from('add', 'controlPlaneConfig/compute', 'compute')])],
  },
  {
    name: 'role',
    description: 'The AWS identity of the cluster; its control plane takes it over.',
    ...when('.roleArn'),
    definitions: [
      onCluster([
        { op: 'add', path: '/spec/template/spec/identity', valueFrom: { template: 'roleArn: {{ .roleArn }}\n' } },
      ]),
    ],
  },
]

interface Topology {
  readonly version: string
  readonly network?: { readonly pods: string; readonly services: string }
  readonly variables: Readonly<Record<string, unknown>>
}

/** A Cluster of the class. */
export function topologyCluster(
  metadata: Record<string, unknown>,
  { version, network, variables }: Topology,
): Manifest {
  return {
    apiVersion: CAPI,
    kind: 'Cluster',
    metadata,
    spec: {
      ...(network ? { clusterNetwork: toClusterNetwork(network) } : {}),
      topology: {
        class: CLUSTER_CLASS,
        version,
        variables: Object.entries(variables).map(([name, value]) => ({ name, value })),
      },
    },
  }
}

export const toClusterNetwork = ({ pods, services }: NonNullable<Topology['network']>) => ({
  pods: { cidrBlocks: [pods] },
  services: { cidrBlocks: [services] },
  serviceDomain: 'cluster.local',
})
