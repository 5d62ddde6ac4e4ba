// The request for the VPC run. Every field of the spec that reaches Terraform has its variable here; text goes to
// `variables` (older templates substitute it), lists, maps and booleans go to `values`.
import type { CAPTCluster } from '#api'
import type { ApplyRequest } from '../shared/apply.ts'
import { credentials, roleValues, tagVariables, unlessEmpty } from '../shared/variables.ts'

export function vpcApplyName(object: CAPTCluster, cluster: string): string {
  return object.spec.workspaceTemplateApplyName ?? `${cluster}-vpc`
}

/** `inAws`: the name of the cluster there. Undefined when the VPC exists already. */
export function vpcRequest(object: CAPTCluster, cluster: string, inAws: string): ApplyRequest | undefined {
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
        cluster_name: inAws,
        region: spec.region,
        vpc_name: name ?? `${spec.clusterName === undefined ? inAws : cluster}-vpc`,
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
