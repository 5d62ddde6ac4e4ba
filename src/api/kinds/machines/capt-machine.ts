// One EC2 instance that joins an EKS cluster, by the InfraMachine contract of Cluster API or on its own.
// People write the spec, except providerID; only controllers/machine writes the status.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { conditions, objectRef } from '../../meta.ts'
import { IMAGE_ID, INSTANCE_TYPE, LABEL_VALUE, ROLE_NAME, SECURITY_GROUP_ID, SUBNET_ID } from '../../patterns.ts'
import * as s from '../../schema/build.ts'

export const MACHINE_FINALIZER = 'captmachine.infrastructure.cluster.x-k8s.io'
/** On a CAPTMachine: its set removes it first when it has too many. The same word as core Cluster API. */
export const DELETE_MACHINE_ANNOTATION = 'cluster.x-k8s.io/delete-machine'

const label = s.string({ maxLength: 63, pattern: LABEL_VALUE })

const fixed = (what: string): readonly s.Rule[] => [
  {
    rule: 'self == oldSelf',
    message: `${what} of a machine cannot be changed: make another machine, or change its set`,
  },
]

/** Fields of a machine that change without another instance. Everything else needs one. */
export const IN_PLACE_FIELDS = ['labels', 'tags', 'drainTimeoutSeconds'] as const

/** `rules`: what holds for a machine and not for a template, which may be edited. */
function fields(rules: (what: string) => readonly s.Rule[]) {
  return {
    workspaceTemplateRef: objectRef('WorkspaceTemplate that makes the instance.'),
    instanceType: s.string({
      about: 'EC2 instance type, as the variable instance_type: m7i.large.',
      pattern: INSTANCE_TYPE,
      maxLength: 64,
      rules: rules('the instance type'),
    }),
    nodeGroupRef: objectRef(
      'Node group that the machine is like: a CAPTMachinePool, or a WorkspaceTemplateApply with the output node_group_name. It supplies subnets, security group, node role, image and labels. One of another namespace must allow it by the annotation capt.appthrust.com/allow-namespaces.',
    ),
    subnetIds: s.list(s.string({ pattern: SUBNET_ID, maxLength: 64 }), {
      about: 'Subnets for the instance, one of which is chosen by its name; those of the node group when left out.',
      minItems: 1,
      maxItems: 16,
      listType: 'set',
      rules: rules('the subnets'),
    }),
    securityGroupIds: s.list(s.string({ pattern: SECURITY_GROUP_ID, maxLength: 64 }), {
      about: 'Security groups of the instance; with a node group that of its nodes when left out.',
      minItems: 1,
      maxItems: 5,
      listType: 'set',
    }),
    nodeRoleName: s.string({
      about:
        'IAM role of the node, which has access to the cluster already. Left out, it is that of the node group, or without one a role of its own.',
      pattern: ROLE_NAME,
      maxLength: 64,
      rules: rules('the node role'),
    }),
    imageId: s.string({
      about: 'AMI of the instance; that of the node group when left out.',
      pattern: IMAGE_ID,
      maxLength: 64,
      rules: rules('the image'),
    }),
    labels: s.map(label, { about: 'Labels of the Node. A change reaches the Node in place.', maxProperties: 40 }),
    tags: s.map(s.string({ maxLength: 256 }), {
      about: 'AWS tags of the instance, as the variable tags. A change is made in place.',
      maxProperties: 40,
    }),
    drainTimeoutSeconds: s.integer({
      about:
        'How long the deletion of a machine without a core Machine waits for its pods to be evicted. 0 deletes it without evicting them.',
      default: 900,
      minimum: 0,
      maximum: 86_400,
    }),
  } as const
}

/** The spec of a machine in a template, a set or a deployment. */
export const machineTemplateFields = fields(() => [])

export const machineRules: readonly s.Rule[] = [
  {
    rule: 'has(self.nodeGroupRef) || (has(self.subnetIds) && has(self.securityGroupIds) && has(self.imageId))',
    message: 'without nodeGroupRef, subnetIds, securityGroupIds and imageId must be set',
  },
]

const address = s.object(
  {
    type: s.string({
      enum: ['Hostname', 'InternalIP', 'ExternalIP', 'InternalDNS', 'ExternalDNS'],
      about: 'Kind of address.',
    }),
    address: s.string({ about: 'The address.', maxLength: 256 }),
  },
  { required: ['type', 'address'] },
)

export const CAPTMachine = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTMachine',
  reconciledBy: 'infrastructure',
  categories: ['cluster-api'],
  about:
    'One EC2 instance that joins an EKS cluster. Under a core Machine it uses its bootstrap data; on its own it belongs to the Cluster that the label cluster.x-k8s.io/cluster-name names, and capt drains its Node before it is deleted.',
  spec: s.object(
    {
      ...fields(fixed),
      providerID: s.string({
        about: 'Id of the instance as its Node has it. capt writes it.',
        maxLength: 512,
        rules: [{ rule: 'self == oldSelf', message: 'providerID cannot be changed' }],
      }),
    },
    {
      required: ['workspaceTemplateRef', 'instanceType'],
      about: 'Desired state.',
      rules: [
        ...machineRules,
        {
          rule: 'has(self.subnetIds) == has(oldSelf.subnetIds) && has(self.nodeRoleName) == has(oldSelf.nodeRoleName) && has(self.imageId) == has(oldSelf.imageId)',
          message: 'subnetIds, nodeRoleName and imageId cannot be added or removed: the instance would be made again',
        },
        {
          rule: 'has(self.nodeGroupRef) == has(oldSelf.nodeGroupRef) && (!has(self.nodeGroupRef) || self.nodeGroupRef == oldSelf.nodeGroupRef)',
          message: 'nodeGroupRef of a machine cannot be changed: make another machine, or change its set',
        },
      ],
    },
  ),
  status: s.object(
    {
      ready: s.boolean({ about: 'Whether the instance was made (Cluster API contract v1beta1). Never goes back.' }),
      initialization: s.object(
        { provisioned: s.boolean({ about: 'Whether the instance was made. Never goes back.' }) },
        { about: 'First provisioning (Cluster API contract v1beta2).' },
      ),
      instanceId: s.string({ about: 'Id of the EC2 instance.' }),
      privateIp: s.string({ about: 'Private address of the instance.' }),
      failureDomain: s.string({ about: 'Availability zone of the instance.' }),
      version: s.string({ about: 'Kubernetes version that the core Machine asked for.' }),
      addresses: s.list(address, { about: 'Addresses of the instance.', maxItems: 32 }),
      nodeRef: s.object({ name: s.string({ about: 'Name of the Node.' }) }, { about: 'The Node of the instance.' }),
      workspaceTemplateStatus: s.object(
        {
          ready: s.boolean({ about: 'Whether the last run succeeded and nothing is left to do.' }),
          workspaceName: s.string({ about: 'WorkspaceTemplateApply that runs it.' }),
          lastFailureMessage: s.string({ about: 'What the last run failed with.' }),
        },
        { about: 'The Terraform run behind the instance.' },
      ),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  columns: [
    { name: 'CLUSTER', path: '.metadata.labels.cluster\\.x-k8s\\.io/cluster-name' },
    { name: 'INSTANCE-ID', path: '.status.instanceId' },
    { name: 'TYPE', path: '.spec.instanceType' },
    { name: 'READY', path: ".status.conditions[?(@.type=='Ready')].status" },
    { name: 'NODE', path: ".status.conditions[?(@.type=='NodeHealthy')].status" },
    { name: 'NODE GROUP', path: '.spec.nodeGroupRef.name', priority: 1 },
    { name: 'VERSION', path: '.status.version', priority: 1 },
    { name: 'PRIVATE-IP', path: '.status.privateIp', priority: 1 },
    { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type CAPTMachine = KindOf<typeof CAPTMachine>
