// The fields of CAPTCluster and CAPTControlPlane that set a variable of their Terraform template: one row each. Their
// controllers send by it, and what Terraform reports about a variable is shown with the field.
import type { Json } from '#lib'
import type { CAPTControlPlane, WorkspaceTemplateApply } from './kinds/index.ts'

interface TerraformField {
  /** Path below `spec`. */
  readonly field: string
  readonly variable: string
  /**
   * Sends the value of the field where it is set: in `values`, or as text in `variables`, for templates of the older project.
   * Left out where the controller computes what it sends.
   */
  readonly sent?: 'value' | 'text'
  /** What is sent for a value of the field; undefined sends nothing. */
  readonly convert?: (value: Json) => Json | undefined
  /** `controlPlaneConfig.values` may not set the variable even where the field is not set: capt itself reads the field. */
  readonly isReserved?: true
}

const IDENTITY: readonly TerraformField[] = [
  { field: 'identity.roleArn', variable: 'assume_role_arn', isReserved: true },
  { field: 'identity.externalId', variable: 'assume_role_external_id', isReserved: true },
]

const CLUSTER: readonly TerraformField[] = [
  { field: 'clusterName', variable: 'cluster_name' },
  { field: 'region', variable: 'region' },
  { field: 'vpcConfig.name', variable: 'vpc_name' },
  { field: 'vpcConfig.cidr', variable: 'vpc_cidr', sent: 'text' },
  { field: 'vpcConfig.singleNatGateway', variable: 'single_nat_gateway', sent: 'value' },
  { field: 'additionalTags.Environment', variable: 'environment' },
  { field: 'additionalTags', variable: 'tags' },
  ...IDENTITY,
]

const CONTROL_PLANE: readonly TerraformField[] = [
  { field: 'version', variable: 'kubernetes_version', isReserved: true },
  { field: 'controlPlaneConfig.region', variable: 'region', isReserved: true },
  {
    field: 'controlPlaneConfig.endpointAccess.public',
    variable: 'endpoint_public_access',
    sent: 'text',
    isReserved: true,
  },
  {
    field: 'controlPlaneConfig.endpointAccess.private',
    variable: 'endpoint_private_access',
    sent: 'text',
    isReserved: true,
  },
  {
    field: 'controlPlaneConfig.endpointAccess.publicCIDRs',
    variable: 'endpoint_public_access_cidrs',
    sent: 'value',
    isReserved: true,
  },
  { field: 'controlPlaneConfig.access', variable: 'access', sent: 'value', convert: toAccess, isReserved: true },
  { field: 'controlPlaneConfig.addons', variable: 'addons', sent: 'value', convert: toAddons, isReserved: true },
  {
    field: 'controlPlaneConfig.compute',
    variable: 'auto_mode',
    sent: 'value',
    // Left out otherwise: the inputs of clusters from before the field stay as they are.
    convert: (compute) => (compute === 'AutoMode' ? true : undefined),
    isReserved: true,
  },
  { field: 'controlPlaneConfig.karpenter.namespace', variable: 'karpenter_namespace', sent: 'value' },
  {
    field: 'controlPlaneConfig.karpenter.identity',
    variable: 'identity',
    sent: 'value',
    convert: (identity) => (identity === 'IRSA' ? 'irsa' : 'podIdentity'),
  },
  { field: 'additionalTags', variable: 'tags', isReserved: true },
  ...IDENTITY,
]

/** By kind. */
export const TERRAFORM_FIELDS = { CAPTCluster: CLUSTER, CAPTControlPlane: CONTROL_PLANE } as const

const ROWS: Readonly<Record<string, readonly TerraformField[]>> = TERRAFORM_FIELDS

/** What sets a variable of an apply, for people: a field of its owner, such as `spec.vpcConfig.cidr of CAPTCluster demo`, or its own. */
export function fieldOfVariable({ metadata, spec }: WorkspaceTemplateApply, variable: string): string | undefined {
  const home = (['values', 'variables'] as const).find((one) => Object.hasOwn(spec[one] ?? {}, variable))
  const owner = metadata.ownerReferences?.find(({ kind }) => Object.hasOwn(ROWS, kind))
  if (!owner) return home && `spec.${home}.${variable}`
  const row = ROWS[owner.kind]!.find((one) => one.variable === variable)
  const hasValues = owner.kind === 'CAPTControlPlane' && home === 'values' && row?.isReserved !== true
  const fields = [
    ...(row ? [`spec.${row.field}`] : []),
    ...(hasValues ? [`spec.controlPlaneConfig.values.${variable}`] : []),
  ]
  return fields.length === 0 ? undefined : `${fields.join(' or ')} of ${owner.kind} ${owner.name}`
}

type Config = NonNullable<CAPTControlPlane['spec']['controlPlaneConfig']>

function toAccess(access: Json): Json {
  return (access as unknown as NonNullable<Config['access']>).map(
    ({ principalARN, policies, kubernetesGroups, username }) => ({
      principal_arn: principalARN,
      ...(kubernetesGroups ? { kubernetes_groups: kubernetesGroups } : {}),
      ...(username === undefined ? {} : { username }),
      ...(policies
        ? { policies: policies.map(({ name, namespaces }) => ({ name, ...(namespaces ? { namespaces } : {}) })) }
        : {}),
    }),
  )
}

function toAddons(addons: Json): Json {
  return Object.fromEntries(
    (addons as unknown as NonNullable<Config['addons']>).map(({ name, version, configurationValues }) => [
      name,
      {
        ...(version === undefined ? {} : { version }),
        ...(configurationValues === undefined ? {} : { configuration_values: configurationValues }),
      },
    ]),
  )
}
