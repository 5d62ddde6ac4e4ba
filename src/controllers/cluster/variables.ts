// What a run is told. Every field of the spec that shapes infrastructure has its variable here; text goes to
// `variables` (older templates substitute it), lists, maps and booleans go to `values`.
import type { CAPTCluster } from '#api'
import type { Json } from '#lib'
import type { ApplyRequest, ApplySpec, Identity } from './apply.ts'

export function vpcApplyName(object: CAPTCluster, cluster: string): string {
  return object.spec.workspaceTemplateApplyName ?? `${cluster}-vpc`
}

/** Undefined when the VPC exists already. */
export function vpcRequest(object: CAPTCluster, cluster: string): ApplyRequest | undefined {
  const { spec } = object
  const namespace = object.metadata.namespace ?? ''
  if (!spec.vpcTemplateRef) return undefined
  const { name, cidr, singleNatGateway } = spec.vpcConfig ?? {}
  return {
    name: vpcApplyName(object, cluster),
    namespace,
    cluster,
    owner: object,
    spec: {
      templateRef: { namespace, ...spec.vpcTemplateRef },
      variables: {
        cluster_name: spec.clusterName ?? cluster,
        region: spec.region,
        vpc_name: name ?? `${cluster}-vpc`,
        environment: spec.additionalTags?.['Environment'] ?? 'production',
        ...(cidr === undefined ? {} : { vpc_cidr: cidr }),
        ...tagVariables(spec.additionalTags),
      },
      values: {
        ...unlessEmpty('tags', spec.additionalTags),
        ...(singleNatGateway === undefined ? {} : { single_nat_gateway: singleNatGateway }),
        ...roleValues(spec.identity),
      },
      writeConnectionSecretToRef: { name: `${cluster}-vpc-connection`, namespace },
      ...(spec.retainVpcOnDelete ? { retainWorkspaceOnDelete: true } : {}),
      ...credentials(spec.identity),
    },
  }
}

/** Nothing said is not the same as an empty value: the template may know better. */
export function unlessEmpty(name: string, value: Json | undefined): { [name: string]: Json } {
  const isEmpty =
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  return isEmpty ? {} : { [name]: value }
}

const VARIABLE_NAME = /^[A-Za-z0-9_-]+$/

/** One variable per tag, for templates written for the older project; only keys that can be a name. */
export function tagVariables(tags: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tags)
      .filter(([key]) => VARIABLE_NAME.test(key))
      .map(([key, value]) => [`tags_${key}`, value]),
  )
}

export function roleValues(identity: Identity | undefined): { [name: string]: Json } {
  const { roleArn, externalId } = identity ?? {}
  return {
    ...(roleArn === undefined ? {} : { assume_role_arn: roleArn }),
    ...(externalId === undefined ? {} : { assume_role_external_id: externalId }),
  }
}

export function credentials(identity: Identity | undefined): Pick<ApplySpec, 'credentialsRef'> {
  return identity?.secretRef ? { credentialsRef: identity.secretRef } : {}
}
