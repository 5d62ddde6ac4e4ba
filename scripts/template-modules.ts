// The Terraform modules that capt ships, each joined from .tf files below templates/, which terraform can format. What
// several modules have in common is one file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../templates')

export interface TemplateModule {
  readonly folder: string
  /** The .tf files below templates/ that are joined to the module. */
  readonly files: readonly string[]
  readonly description: string
  readonly tags: Readonly<Record<string, string>>
  readonly env?: readonly object[]
}

const fromWorkload = (key: string) => ({
  name: `TF_VAR_workload_${key}`,
  secretKeyRef: { name: '${cluster_name}-simulated-workload', key },
})

/** Of a bootstrap provider, or empty: then the template makes it. */
const USER_DATA = { name: 'TF_VAR_user_data', secretKeyRef: { name: '${user_data_secret}', key: 'value' } }

/** Inputs and outputs, which a template for AWS and its simulated twin have in common. */
const interfaceOf = (folder: string): readonly string[] => [
  'shared/variables.tf',
  `${folder}/variables.tf`,
  `${folder}/outputs.tf`,
]
const PROVIDER = 'shared/aws.tf'
const EKS_INPUTS = 'shared/eks-variables.tf'
const NETWORK = interfaceOf('vpc')
const CONTROL_PLANE = [EKS_INPUTS, ...interfaceOf('eks-controlplane')]
const NODE_GROUP = [EKS_INPUTS, ...interfaceOf('node-group')]
const MACHINE = interfaceOf('machine')

export const TEMPLATES = {
  vpc: {
    folder: 'vpc',
    files: ['vpc/main.tf', PROVIDER, ...NETWORK],
    description: 'VPC over three zones with NAT, tagged for load balancers and Karpenter.',
    tags: { cloud: 'aws', module: 'terraform-aws-modules/vpc/aws 6.6.0' },
  },
  eks: {
    folder: 'eks-controlplane',
    files: ['eks-controlplane/main.tf', PROVIDER, ...CONTROL_PLANE],
    description: 'EKS control plane with a node group for controllers, EKS add-ons and what Karpenter needs in AWS.',
    tags: { cloud: 'aws', module: 'terraform-aws-modules/eks/aws 21.19.0' },
  },
  nodeGroup: {
    folder: 'node-group',
    files: ['node-group/main.tf', PROVIDER, ...NODE_GROUP],
    description: 'EKS managed node group with node role and launch template.',
    tags: { cloud: 'aws' },
  },
  machine: {
    folder: 'machine',
    files: ['machine/main.tf', PROVIDER, ...MACHINE],
    description: 'One EC2 instance that joins an EKS cluster: instance profile, access entry, AL2023 user data.',
    tags: { cloud: 'aws' },
    env: [USER_DATA],
  },
  simulatedMachine: {
    folder: 'simulation-machine',
    files: ['simulation-machine/main.tf', ...MACHINE],
    description: 'An EC2 instance that exists only in Terraform state. Simulation.',
    tags: { cloud: 'simulation' },
    env: [USER_DATA],
  },
  simulatedVpc: {
    folder: 'simulation-vpc',
    files: ['simulation-vpc/main.tf', ...NETWORK],
    description: 'A VPC that exists only in Terraform state. Simulation.',
    tags: { cloud: 'simulation' },
  },
  simulatedEks: {
    folder: 'simulation-eks-controlplane',
    files: ['simulation-eks-controlplane/main.tf', ...CONTROL_PLANE],
    description: 'An EKS control plane that exists only in Terraform state, with a simulated workload API. Simulation.',
    tags: { cloud: 'simulation' },
    env: ['endpoint', 'ca', 'token'].map(fromWorkload),
  },
  simulatedNodeGroup: {
    folder: 'simulation-node-group',
    files: ['simulation-node-group/main.tf', ...NODE_GROUP],
    description: 'An EKS node group that exists only in Terraform state; its nodes are simulated. Simulation.',
    tags: { cloud: 'simulation' },
  },
} as const satisfies Record<string, TemplateModule>

/** The text of a module, as its WorkspaceTemplate ships it. */
export function moduleText(folder: string): string {
  const template = Object.values(TEMPLATES).find((one) => one.folder === folder)
  if (template === undefined) throw new Error(`templates/${folder} is not in TEMPLATES`)
  return template.files.map((file) => readFileSync(join(FOLDER, file), 'utf8')).join('\n')
}
