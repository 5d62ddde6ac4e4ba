// The network a cluster lives in: a VPC made from a WorkspaceTemplate, or one that exists already.
// People write the spec; only controllers/cluster writes the status.
import { defineKind, type KindOf } from '../define-kind.ts'
import { conditions, objectRef } from '../meta.ts'
import { CLUSTER_NAME, EXTERNAL_ID, OBJECT_NAME, REGION, ROLE_ARN, SUBNET_ID, VPC_CIDR, VPC_ID } from '../patterns.ts'
import * as s from '../schema/build.ts'

/** Whose AWS credentials a cluster's runs and tokens use. */
export const identity = s.object(
  {
    secretRef: objectRef(
      'Secret with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN where needed. A Secret of another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces.',
    ),
    roleArn: s.string({
      about: 'IAM role to assume, with the credentials of secretRef or else those of capt itself.',
      pattern: ROLE_ARN,
      maxLength: 2048,
    }),
    externalId: s.string({
      about: 'External id that the trust policy of the role asks for.',
      pattern: EXTERNAL_ID,
      minLength: 2,
      maxLength: 1224,
    }),
  },
  {
    about: 'AWS identity of this cluster; the identity of capt itself when left out.',
    minProperties: 1,
    rules: [
      {
        rule: '!has(self.externalId) || has(self.roleArn)',
        message: 'externalId needs roleArn, the role that asks for it',
      },
    ],
  },
)

export const additionalTags = s.map(s.string({ maxLength: 256 }), {
  about:
    'AWS tags for everything that is made, as the variable tags; tags_<key> too where the key can be a variable name.',
  maxProperties: 40,
})

const subnetIds = (about: string) =>
  s.list(s.string({ pattern: SUBNET_ID, maxLength: 64 }), { about, maxItems: 32, listType: 'set' })

/** What a CAPTCluster and a CAPTClusterTemplate have in common. */
export const clusterFields = {
  region: s.string({
    about: 'AWS region, of any partition. It cannot be changed.',
    pattern: REGION,
    maxLength: 32,
    rules: [{ rule: 'self == oldSelf', message: 'the region of a cluster cannot be changed' }],
  }),
  vpcTemplateRef: objectRef('WorkspaceTemplate that makes the VPC.'),
  existingVpcId: s.string({
    about: 'VPC that exists already and is only used, never changed or deleted.',
    pattern: VPC_ID,
    maxLength: 64,
    rules: [{ rule: 'self == oldSelf', message: 'a cluster cannot move to another VPC' }],
  }),
  existingSubnets: s.object(
    {
      private: subnetIds('Subnets for the control plane and the nodes.'),
      public: subnetIds('Subnets for load balancers that the internet reaches.'),
    },
    {
      about: 'Subnets of the existing VPC. Left out, the control plane template looks them up by their role tags.',
      minProperties: 1,
    },
  ),
  retainVpcOnDelete: s.boolean({ about: 'Keep the VPC that the template made when the cluster is deleted.' }),
  vpcConfig: s.object(
    {
      name: s.string({
        about: 'Name of the VPC, as the variable vpc_name; <cluster>-vpc when left out.',
        minLength: 1,
        maxLength: 255,
      }),
      cidr: s.string({
        about: 'Address block of the VPC (/16 to /28), as the variable vpc_cidr. It cannot be changed.',
        pattern: VPC_CIDR,
        maxLength: 18,
        rules: [{ rule: 'self == oldSelf', message: 'the address block of a VPC cannot be changed' }],
      }),
      singleNatGateway: s.boolean({
        about: 'One NAT gateway for all zones instead of one per zone, as the variable single_nat_gateway.',
      }),
    },
    { about: 'Settings of the VPC that the template makes.' },
  ),
  additionalTags,
  identity,
} as const

/** Rules that hold for a template too, where nothing needs to be set yet. */
export const clusterRules: readonly s.Rule[] = [
  {
    rule: '!has(self.retainVpcOnDelete) || !self.retainVpcOnDelete || has(self.vpcTemplateRef)',
    message: 'retainVpcOnDelete needs vpcTemplateRef: an existing VPC is never deleted',
  },
  {
    rule: '!has(self.existingSubnets) || has(self.existingVpcId)',
    message: 'existingSubnets needs existingVpcId, the VPC they belong to',
  },
  {
    rule: '!has(self.vpcConfig) || has(self.vpcTemplateRef)',
    message: 'vpcConfig needs vpcTemplateRef: an existing VPC is not configured',
  },
]

const EXACTLY_ONE = 'exactly one of vpcTemplateRef and existingVpcId must be set'
const hasCidr = (of: string) => `(has(${of}.vpcConfig) && has(${of}.vpcConfig.cidr))`

export const CAPTCluster = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTCluster',
  reconciledBy: 'infrastructure',
  categories: ['cluster-api'],
  about:
    'The infrastructure of one Cluster: a VPC from a WorkspaceTemplate, or one that exists already. Cluster API makes it ready through the Cluster that owns it.',
  spec: s.object(
    {
      ...clusterFields,
      clusterName: s.string({
        about:
          'Name of the cluster in AWS, as the variable cluster_name. It is used as it is: a cluster whose name is taken is not made. Left out, it is the name of the Cluster, with a hash appended when another cluster of the account and region has that name; status.clusterName is the one that was chosen. In another region of the account only the node role, which is global, gets a hash appended. It cannot be changed.',
        pattern: CLUSTER_NAME,
        maxLength: 100,
      }),
      workspaceTemplateApplyName: s.string({
        about:
          'Name of the WorkspaceTemplateApply that makes the VPC; <cluster>-vpc when left out. It cannot be changed.',
        pattern: OBJECT_NAME,
        maxLength: 200,
      }),
    },
    {
      required: ['region'],
      about: 'Desired state.',
      rules: [
        {
          rule: 'has(self.vpcTemplateRef) != has(self.existingVpcId)',
          message: EXACTLY_ONE,
          messageExpression: `"${EXACTLY_ONE} (" + (has(self.vpcTemplateRef) ? "both are" : "neither is") + ")"`,
        },
        ...clusterRules,
        {
          rule: 'has(self.vpcTemplateRef) == has(oldSelf.vpcTemplateRef)',
          message: 'a cluster cannot switch between vpcTemplateRef and existingVpcId: its VPC would be destroyed',
        },
        {
          rule: `${hasCidr('self')} == ${hasCidr('oldSelf')}`,
          message: 'vpcConfig.cidr cannot be added or removed: the VPC would be destroyed',
        },
        {
          rule: 'has(self.clusterName) == has(oldSelf.clusterName) && (!has(self.clusterName) || self.clusterName == oldSelf.clusterName)',
          message: 'clusterName cannot be changed: the cluster would be made again under the new name',
        },
        {
          rule: 'has(self.workspaceTemplateApplyName) == has(oldSelf.workspaceTemplateApplyName) && (!has(self.workspaceTemplateApplyName) || self.workspaceTemplateApplyName == oldSelf.workspaceTemplateApplyName)',
          message: 'workspaceTemplateApplyName cannot be changed: the VPC would be left behind',
        },
      ],
    },
  ),
  status: s.object(
    {
      clusterName: s.string({
        about: 'Name of the cluster in AWS. Chosen before the first run; it never changes.',
      }),
      vpcId: s.string({ about: 'The VPC, made or existing.' }),
      privateSubnets: s.list(s.string(), { about: 'Subnets for the control plane and the nodes.' }),
      publicSubnets: s.list(s.string(), { about: 'Subnets for load balancers that the internet reaches.' }),
      availabilityZones: s.list(s.string(), { about: 'Availability zones of the subnets.' }),
      ready: s.boolean({ about: 'Whether the VPC was provisioned (Cluster API contract v1beta1). Never goes back.' }),
      initialization: s.object(
        { provisioned: s.boolean({ about: 'Whether the VPC was provisioned. Never goes back.' }) },
        { about: 'First provisioning (Cluster API contract v1beta2).' },
      ),
      vpcWorkspaceName: s.string({ about: 'WorkspaceTemplateApply that makes the VPC.' }),
      workspaceTemplateStatus: s.object(
        {
          ready: s.boolean({ about: 'Whether the last run succeeded and nothing is left to do.' }),
          workspaceName: s.string({ about: 'WorkspaceTemplateApply that runs it.' }),
          lastAppliedRevision: s.string({ about: 'Hash of the inputs that were last applied.' }),
          lastFailureMessage: s.string({ about: 'What the last run failed with.' }),
        },
        { about: 'The Terraform run behind the VPC.' },
      ),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  columns: [
    { name: 'REGION', path: '.spec.region' },
    { name: 'VPC-ID', path: '.status.vpcId' },
    { name: 'READY', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' },
    { name: 'MESSAGE', path: '.status.conditions[?(@.type=="Ready")].message' },
  ],
})
export type CAPTCluster = KindOf<typeof CAPTCluster>
