// The nodes of a core MachinePool as one EKS managed node group, made from a WorkspaceTemplate.
// People write the spec, except providerIDList; only controllers/machine-pool writes that and the status.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { conditions, objectRef } from '../../meta.ts'
import { GROUP_INSTANCE_TYPE, LABEL_KEY, LABEL_VALUE, SUBNET_ID } from '../../patterns.ts'
import * as s from '../../schema/build.ts'
import { additionalTags } from '../capt-cluster.ts'

const AMI_TYPES = [
  'AL2023_x86_64_STANDARD',
  'AL2023_ARM_64_STANDARD',
  'AL2023_x86_64_NVIDIA',
  'AL2023_ARM_64_NVIDIA',
  'AL2023_x86_64_NEURON',
  'BOTTLEROCKET_x86_64',
  'BOTTLEROCKET_ARM_64',
  'BOTTLEROCKET_x86_64_FIPS',
  'BOTTLEROCKET_ARM_64_FIPS',
  'BOTTLEROCKET_x86_64_NVIDIA',
  'BOTTLEROCKET_ARM_64_NVIDIA',
] as const

/** EKS takes groups of up to 450 nodes by default; the quota can be raised. */
const MOST_NODES = 5000

const taint = s.object(
  {
    key: s.string({
      about: 'Key of the taint.',
      pattern: LABEL_KEY,
      maxLength: 317,
    }),
    value: s.string({
      about: 'Value of the taint.',
      pattern: LABEL_VALUE,
      maxLength: 63,
    }),
    effect: s.string({
      about: 'What happens to pods that do not tolerate it.',
      enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
    }),
  },
  { required: ['key', 'effect'] },
)

/** What a CAPTMachinePool and a CAPTMachinePoolTemplate have in common. */
export const machinePoolFields = {
  workspaceTemplateRef: objectRef('WorkspaceTemplate that makes the node group.'),
  instanceTypes: s.list(s.string({ pattern: GROUP_INSTANCE_TYPE, maxLength: 32 }), {
    about: 'Instance types such as m7i.large, in order of preference, as the variable instance_types.',
    minItems: 1,
    maxItems: 20,
  }),
  amiType: s.string({ about: 'Kind of image, as the variable ami_type.', enum: AMI_TYPES }),
  capacityType: s.string({
    about:
      'On-demand or Spot instances, as the variable capacity_type. With SPOT, the service-linked role for EC2 Spot is made first where the account lacks it.',
    enum: ['ON_DEMAND', 'SPOT'],
  }),
  diskSize: s.integer({
    about: 'Size of the disk of each node in GiB, as the variable disk_size.',
    minimum: 1,
    maximum: 16384,
  }),
  scaling: s.object(
    {
      minSize: s.integer({
        about: 'Least number of nodes, as the variable min_size.',
        minimum: 0,
        maximum: MOST_NODES,
      }),
      maxSize: s.integer({ about: 'Most nodes, as the variable max_size.', minimum: 1, maximum: MOST_NODES }),
    },
    {
      about:
        'Bounds between which the group may be scaled. Left out, the group has exactly the replicas of its MachinePool.',
      required: ['minSize', 'maxSize'],
      rules: [{ rule: 'self.minSize <= self.maxSize', message: 'minSize must not be greater than maxSize' }],
    },
  ),
  labels: s.map(s.string({ maxLength: 63, pattern: LABEL_VALUE }), {
    about: 'Labels of the nodes, as the variable labels.',
    maxProperties: 50,
    rules: [
      {
        rule: "self.all(key, !key.startsWith('eks.amazonaws.com/'))",
        message: 'labels of eks.amazonaws.com are set by EKS',
      },
    ],
  }),
  taints: s.list(taint, {
    about: 'Taints of the nodes, as the variable taints.',
    maxItems: 50,
    listType: 'map',
    mapKeys: ['key', 'effect'],
  }),
  updateConfig: s.object(
    {
      maxUnavailable: s.integer({
        about: 'Number of nodes, as the variable max_unavailable.',
        minimum: 1,
        maximum: 100,
      }),
      maxUnavailablePercentage: s.integer({
        about: 'Share of the nodes in percent, as the variable max_unavailable_percentage.',
        minimum: 1,
        maximum: 100,
      }),
    },
    {
      about: 'How many nodes EKS may replace at the same time when it rolls out a change.',
      rules: [
        {
          rule: 'has(self.maxUnavailable) != has(self.maxUnavailablePercentage)',
          message: 'exactly one of maxUnavailable and maxUnavailablePercentage must be set',
        },
      ],
    },
  ),
  subnets: s.list(s.string({ pattern: SUBNET_ID, maxLength: 64 }), {
    about: 'Subnets of the nodes, as the variable subnets; the private subnets of the cluster when left out.',
    minItems: 1,
    maxItems: 16,
    listType: 'set',
  }),
  additionalTags,
} as const

export const CAPTMachinePool = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTMachinePool',
  reconciledBy: 'infrastructure',
  categories: ['cluster-api'],
  about:
    'The infrastructure of one MachinePool of Cluster API: an EKS managed node group, made by Terraform from a WorkspaceTemplate. The MachinePool has the number of nodes and their Kubernetes version.',
  spec: s.object(
    {
      ...machinePoolFields,
      providerIDList: s.list(s.string({ maxLength: 512 }), {
        about: 'Provider ids of the nodes, as Cluster API compares them with those of the Nodes. Written by capt.',
        maxItems: MOST_NODES,
        listType: 'set',
      }),
    },
    { required: ['workspaceTemplateRef'], about: 'Desired state.' },
  ),
  status: s.object(
    {
      ready: s.boolean({
        about: 'Whether the node group was provisioned (Cluster API contract v1beta1). Never goes back.',
      }),
      initialization: s.object(
        { provisioned: s.boolean({ about: 'Whether the node group was provisioned. Never goes back.' }) },
        { about: 'First provisioning (Cluster API contract v1beta2).' },
      ),
      replicas: s.integer({ about: 'Nodes that have joined the cluster.' }),
      readyReplicas: s.integer({ about: 'Nodes that are ready.' }),
      nodeGroupName: s.string({ about: 'Name of the node group in EKS.' }),
      nodeGroupArn: s.string({ about: 'ARN of the node group.' }),
      version: s.string({ about: 'Kubernetes version of the node group, as EKS writes it.' }),
      workspaceTemplateStatus: s.object(
        {
          ready: s.boolean({ about: 'Whether the last run succeeded and nothing is left to do.' }),
          workspaceName: s.string({ about: 'WorkspaceTemplateApply that runs it.' }),
          lastAppliedRevision: s.string({ about: 'Hash of the inputs that were last applied.' }),
          lastFailureMessage: s.string({ about: 'What the last run failed with.' }),
        },
        { about: 'The Terraform run behind the node group.' },
      ),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  columns: [
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Replicas', path: '.status.replicas', type: 'integer' },
    { name: 'Node-Group', path: '.status.nodeGroupName' },
    { name: 'Version', path: '.status.version' },
    { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type CAPTMachinePool = KindOf<typeof CAPTMachinePool>
