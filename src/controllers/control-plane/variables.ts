// What the control plane's run is told: every field of the spec that shapes it, and the network it goes into.
import type { CAPTCluster, CAPTControlPlane, ObjectRef } from '#api'
import type { Json } from '#lib'
import type { ApplyRequest, Identity } from '../cluster/apply.ts'
import { credentials, roleValues, tagVariables, unlessEmpty } from '../cluster/variables.ts'
import { eksVersion } from './version.ts'

/** What the control plane takes from the CAPTCluster beside it. */
export interface Network {
  readonly region: string | undefined
  readonly vpcId: string | undefined
  readonly privateSubnets: readonly string[]
  readonly publicSubnets: readonly string[]
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
    clusterName: spec?.clusterName,
    identity: spec?.identity,
    vpcApply: made,
  }
}

/** Own setting, else the CAPTCluster's, else the annotation that the older project knew. */
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

export function eksRequest(object: CAPTControlPlane, cluster: string, network: Network, region: string): ApplyRequest {
  const { spec } = object
  const namespace = object.metadata.namespace ?? ''
  const { endpointAccess, access, addons, timeouts } = spec.controlPlaneConfig ?? {}
  const identity = identityOf(object, network)
  return {
    name: eksApplyName(object, cluster),
    namespace,
    cluster,
    owner: object,
    spec: {
      templateRef: { namespace, ...spec.workspaceTemplateRef },
      variables: {
        cluster_name: network.clusterName ?? cluster,
        kubernetes_version: eksVersion(spec.version) ?? spec.version,
        region,
        ...(network.vpcId === undefined ? {} : { vpc_id: network.vpcId }),
        ...booleanText('endpoint_public_access', endpointAccess?.public),
        ...booleanText('endpoint_private_access', endpointAccess?.private),
        ...tagVariables(spec.additionalTags),
      },
      values: {
        ...unlessEmpty('tags', spec.additionalTags),
        ...unlessEmpty('private_subnets', network.privateSubnets),
        ...unlessEmpty('public_subnets', network.publicSubnets),
        ...(endpointAccess?.publicCIDRs ? { endpoint_public_access_cidrs: endpointAccess.publicCIDRs } : {}),
        ...(access ? { access: access.map(toAccess) } : {}),
        ...(addons ? { addons: toAddons(addons) } : {}),
        ...roleValues(identity),
      },
      writeConnectionSecretToRef: { name: connectionSecretName(cluster), namespace },
      ...(network.vpcApply ? { waitForWorkspaces: [{ name: network.vpcApply } satisfies ObjectRef] } : {}),
      timeout: `${timeouts?.controlPlaneTimeout ?? DEFAULT_TIMEOUT_MINUTES}m`,
      ...credentials(identity),
    },
  }
}

const DEFAULT_TIMEOUT_MINUTES = 30

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
