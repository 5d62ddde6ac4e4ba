// The request for the VPC run: the fields of TERRAFORM_FIELDS, and what is computed here.
import type { CAPTCluster } from '#api'
import type { ApplyRequest } from '../shared/apply.ts'
import { credentials, fieldVariables, roleValues, tagVariables, unlessEmpty } from '../shared/variables.ts'

export function vpcApplyName(object: CAPTCluster, cluster: string): string {
  return object.spec.workspaceTemplateApplyName ?? `${cluster}-vpc`
}

/** `inAws`: the name of the cluster there. Undefined when the VPC exists already. */
export function vpcRequest(object: CAPTCluster, cluster: string, inAws: string): ApplyRequest | undefined {
  const { spec } = object
  const namespace = object.metadata.namespace ?? ''
  if (!spec.vpcTemplateRef) return undefined
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
        vpc_name: spec.vpcConfig?.name ?? `${spec.clusterName === undefined ? inAws : cluster}-vpc`,
        environment: spec.additionalTags?.['Environment'] ?? 'production',
        ...fieldVariables('CAPTCluster', spec, 'text'),
        ...tagVariables(spec.additionalTags),
      },
      values: {
        ...unlessEmpty('tags', spec.additionalTags),
        ...fieldVariables('CAPTCluster', spec, 'value'),
        ...roleValues(spec.identity),
      },
      writeConnectionSecretToRef: { name: `${cluster}-vpc-connection`, namespace },
      ...(spec.retainVpcOnDelete ? { retainWorkspaceOnDelete: true } : {}),
      ...credentials(spec.identity),
    },
  }
}
