// Where a Terraform variable comes from, for people: the field of the object that sets it. An error that names
// `var.vpc_cidr` is shown with `spec.vpcConfig.cidr of CAPTCluster demo`. Pure.
import type { WorkspaceTemplateApply } from '#api'
import { ownValue } from '#lib'

type Fields = Readonly<Record<string, string>>

const IDENTITY: Fields = {
  assume_role_arn: 'spec.identity.roleArn',
  assume_role_external_id: 'spec.identity.externalId',
}

/** By the kind that owns the apply. What another object provides is left out. */
export const VARIABLE_FIELDS: Readonly<Record<string, Fields>> = {
  CAPTCluster: {
    ...IDENTITY,
    cluster_name: 'spec.clusterName',
    region: 'spec.region',
    vpc_name: 'spec.vpcConfig.name',
    vpc_cidr: 'spec.vpcConfig.cidr',
    single_nat_gateway: 'spec.vpcConfig.singleNatGateway',
    environment: 'spec.additionalTags.Environment',
    tags: 'spec.additionalTags',
  },
  CAPTControlPlane: {
    ...IDENTITY,
    kubernetes_version: 'spec.version',
    region: 'spec.controlPlaneConfig.region',
    endpoint_public_access: 'spec.controlPlaneConfig.endpointAccess.public',
    endpoint_private_access: 'spec.controlPlaneConfig.endpointAccess.private',
    endpoint_public_access_cidrs: 'spec.controlPlaneConfig.endpointAccess.publicCIDRs',
    access: 'spec.controlPlaneConfig.access',
    addons: 'spec.controlPlaneConfig.addons',
    tags: 'spec.additionalTags',
  },
}

/** The text with every variable that a field sets named by that field. */
export function nameFields(text: string, { metadata, spec }: WorkspaceTemplateApply): string {
  const owner = metadata.ownerReferences?.find(({ kind }) => ownValue(VARIABLE_FIELDS, kind) !== undefined)
  const fieldOf = (name: string): string | undefined => {
    if (owner) {
      const field = ownValue(VARIABLE_FIELDS[owner.kind]!, name)
      return field && `${field} of ${owner.kind} ${owner.name}`
    }
    const home = (['values', 'variables'] as const).find((one) => Object.hasOwn(spec[one] ?? {}, name))
    return home && `spec.${home}.${name}`
  }
  return text.replace(/\bvar\.([A-Za-z_][\w-]*)/g, (whole, name: string) => fieldOf(name) ?? whole)
}
