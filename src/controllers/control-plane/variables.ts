// The request for the EKS run: every field of the spec that reaches Terraform, and the network of the CAPTCluster.
import {
  type CAPTCluster,
  type CAPTControlPlane,
  isExternallyManaged,
  type ObjectRef,
  type WorkspaceTemplateApply,
} from '#api'
import type { Json, JsonObject } from '#lib'
import type { ApplyRequest, Identity } from '../shared/apply.ts'
import { ownerTagOf } from '../shared/aws/owner-tag.ts'
import { credentials, roleValues, tagVariables, unlessEmpty } from '../shared/variables.ts'
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
  const { endpointAccess, access, addons, compute, karpenter, timeouts, values = {} } = spec.controlPlaneConfig ?? {}
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
        ...booleanText('endpoint_public_access', endpointAccess?.public),
        ...booleanText('endpoint_private_access', endpointAccess?.private),
        ...tagVariables(spec.additionalTags),
      },
      values: {
        ...(values as JsonObject),
        ...unlessEmpty('tags', spec.additionalTags),
        ...unlessEmpty('private_subnets', network.privateSubnets),
        ...unlessEmpty('public_subnets', network.publicSubnets),
        ...(endpointAccess?.publicCIDRs ? { endpoint_public_access_cidrs: endpointAccess.publicCIDRs } : {}),
        ...(access ? { access: access.map(toAccess) } : {}),
        ...(addons ? { addons: toAddons(addons) } : {}),
        // Left out otherwise: the inputs of clusters from before the field stay as they are.
        ...karpenterValues(karpenter),
        ...(compute === 'AutoMode' ? { auto_mode: true } : {}),
        ...roleValues(identity),
      },
      writeConnectionSecretToRef: { name: connectionSecretName(cluster), namespace },
      ...(network.vpcApply ? { waitForWorkspaces: [{ name: network.vpcApply } satisfies ObjectRef] } : {}),
      timeout: `${timeouts?.controlPlaneTimeout ?? DEFAULT_TIMEOUT_MINUTES}m`,
      ...credentials(identity),
    },
  }
}

/** Variables that fields and other objects set, or that the embedded home fills in. */
const RESERVED = new Set([
  'cluster_name',
  'cluster_owner',
  'kubernetes_version',
  'region',
  'vpc_id',
  'private_subnets',
  'public_subnets',
  'endpoint_public_access',
  'endpoint_private_access',
  'endpoint_public_access_cidrs',
  'access',
  'addons',
  'auto_mode',
  'tags',
  'assume_role_arn',
  'assume_role_external_id',
  'workload_endpoint',
  'workload_ca',
  'workload_token',
])

/** Names in `controlPlaneConfig.values` that are set elsewhere. */
export function reservedValues({ spec }: CAPTControlPlane): readonly string[] {
  const own = karpenterValues(spec.controlPlaneConfig?.karpenter)
  return Object.keys(spec.controlPlaneConfig?.values ?? {})
    .filter((name) => RESERVED.has(name) || name in own)
    .sort()
}

const DEFAULT_TIMEOUT_MINUTES = 30

/** Left out they may be given in `values`, as before there was a field for them. */
function karpenterValues(karpenter: Config['karpenter']): Record<string, string> {
  const { namespace, identity } = karpenter ?? {}
  return {
    ...(namespace === undefined ? {} : { karpenter_namespace: namespace }),
    ...(identity === undefined ? {} : { identity: identity === 'IRSA' ? 'irsa' : 'podIdentity' }),
  }
}

function booleanText(name: string, value: boolean | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: String(value) }
}

type Config = NonNullable<CAPTControlPlane['spec']['controlPlaneConfig']>
type Addons = NonNullable<Config['addons']>

function toAccess({ principalARN, policies, kubernetesGroups, username }: NonNullable<Config['access']>[number]): Json {
  return {
    principal_arn: principalARN,
    ...(kubernetesGroups ? { kubernetes_groups: kubernetesGroups } : {}),
    ...(username === undefined ? {} : { username }),
    ...(policies
      ? { policies: policies.map(({ name, namespaces }) => ({ name, ...(namespaces ? { namespaces } : {}) })) }
      : {}),
  }
}

function toAddons(addons: Addons): { [name: string]: Json } {
  return Object.fromEntries(
    addons.map(({ name, version, configurationValues }) => [
      name,
      {
        ...(version === undefined ? {} : { version }),
        ...(configurationValues === undefined ? {} : { configuration_values: configurationValues }),
      },
    ]),
  )
}
