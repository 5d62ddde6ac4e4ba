// The request for the EKS run: the fields of TERRAFORM_FIELDS, and the network of the CAPTCluster.
import {
  type CAPTCluster,
  type CAPTControlPlane,
  isExternallyManaged,
  type ObjectRef,
  TERRAFORM_FIELDS,
  type WorkspaceTemplateApply,
} from '#api'
import { type JsonObject, ownValueAt } from '#lib'
import type { ApplyRequest, Identity } from '../shared/apply.ts'
import { ownerTagOf } from '../shared/aws/owner-tag.ts'
import { credentials, fieldVariables, roleValues, tagVariables, unlessEmpty } from '../shared/variables.ts'
import { eksVersion } from './version.ts'

/** What the control plane reads from the CAPTCluster of its Cluster. */
export interface Network {
  readonly region: string | undefined
  readonly vpcId: string | undefined
  readonly privateSubnets: readonly string[]
  readonly publicSubnets: readonly string[]
  /** Name in AWS; undefined until it is chosen, and without a CAPTCluster. */
  readonly clusterName: string | undefined
  readonly identity: Identity | undefined
  /** The apply that makes the VPC; it outlives ours. */
  readonly vpcApply: string | undefined
}

export function networkOf(infra: CAPTCluster | undefined, cluster: string): Network {
  const { spec, status } = infra ?? {}
  const made = spec?.vpcTemplateRef ? (spec.workspaceTemplateApplyName ?? `${cluster}-vpc`) : undefined
  return {
    region: spec?.region,
    vpcId: status?.vpcId ?? spec?.existingVpcId,
    privateSubnets: status?.privateSubnets ?? [],
    publicSubnets: status?.publicSubnets ?? [],
    clusterName:
      spec?.clusterName ?? status?.clusterName ?? (infra && isExternallyManaged(infra) ? cluster : undefined),
    identity: spec?.identity,
    vpcApply: made,
  }
}

/** The name that went into an earlier run of the cluster. Anything that capt did not choose counts as its own name. */
export function nameIn({ spec }: WorkspaceTemplateApply, cluster: string): string {
  const used = spec.variables?.['cluster_name'] ?? cluster
  const isExtended = used.startsWith(`${cluster}-`) && /^[0-9a-f]{8}$/.test(used.slice(cluster.length + 1))
  return isExtended ? used : cluster
}

/** From the spec, else from the CAPTCluster, else from the annotation of the older project. */
export function regionOf(
  object: CAPTControlPlane,
  network: Network,
  clusterAnnotations: Readonly<Record<string, string>> = {},
): string | undefined {
  return object.spec.controlPlaneConfig?.region ?? network.region ?? clusterAnnotations['cluster.x-k8s.io/region']
}

export function identityOf(object: CAPTControlPlane, network: Network): Identity | undefined {
  return object.spec.identity ?? network.identity
}

export function eksApplyName(object: CAPTControlPlane, cluster: string): string {
  return object.spec.workspaceTemplateApplyName ?? `${cluster}-eks-controlplane-apply`
}

export const connectionSecretName = (cluster: string): string => `${cluster}-eks-connection`

/** `earlier`: the apply, when there was a request before. A cluster from before the tag keeps its inputs as they are. */
export function eksRequest(
  object: CAPTControlPlane,
  cluster: string,
  network: Network,
  region: string,
  earlier?: WorkspaceTemplateApply,
): ApplyRequest {
  const { spec } = object
  const namespace = object.metadata.namespace ?? ''
  const { timeouts, values = {} } = spec.controlPlaneConfig ?? {}
  const identity = identityOf(object, network)
  const isTagged = !earlier || earlier.spec.variables?.['cluster_owner'] !== undefined
  return {
    name: eksApplyName(object, cluster),
    namespace,
    cluster,
    owner: object,
    spec: {
      // Only an adopted control plane has none, and it has no run.
      templateRef: { namespace, ...spec.workspaceTemplateRef! },
      variables: {
        cluster_name: network.clusterName ?? cluster,
        ...(isTagged ? { cluster_owner: ownerTagOf(namespace, cluster) } : {}),
        kubernetes_version: eksVersion(spec.version) ?? spec.version,
        region,
        ...(network.vpcId === undefined ? {} : { vpc_id: network.vpcId }),
        ...fieldVariables('CAPTControlPlane', spec, 'text'),
        ...tagVariables(spec.additionalTags),
      },
      values: {
        ...(values as JsonObject),
        ...unlessEmpty('tags', spec.additionalTags),
        ...unlessEmpty('private_subnets', network.privateSubnets),
        ...unlessEmpty('public_subnets', network.publicSubnets),
        ...fieldVariables('CAPTControlPlane', spec, 'value'),
        ...roleValues(identity),
      },
      writeConnectionSecretToRef: { name: connectionSecretName(cluster), namespace },
      ...(network.vpcApply ? { waitForWorkspaces: [{ name: network.vpcApply } satisfies ObjectRef] } : {}),
      timeout: `${timeouts?.controlPlaneTimeout ?? DEFAULT_TIMEOUT_MINUTES}m`,
      ...credentials(identity),
    },
  }
}

/** Variables that other objects set, or that the embedded home fills in. */
const SET_ELSEWHERE = [
  'cluster_name',
  'cluster_owner',
  'vpc_id',
  'private_subnets',
  'public_subnets',
  'workload_endpoint',
  'workload_ca',
  'workload_token',
]

/** Names in `controlPlaneConfig.values` that are set elsewhere. */
export function reservedValues({ spec }: CAPTControlPlane): readonly string[] {
  const isSet = (field: string) => ownValueAt(spec, field.split('.')) !== undefined
  const byFields = TERRAFORM_FIELDS.CAPTControlPlane.filter(({ field, isReserved }) => isReserved || isSet(field))
  const reserved = new Set([...SET_ELSEWHERE, ...byFields.map(({ variable }) => variable)])
  return Object.keys(spec.controlPlaneConfig?.values ?? {})
    .filter((name) => reserved.has(name))
    .sort()
}

const DEFAULT_TIMEOUT_MINUTES = 30
