// The request for the run that makes one instance: every field of the spec that reaches Terraform, and where the cluster is.
import type { CAPTMachine, WorkspaceTemplateApply } from '#api'
import type { Json } from '#lib'
import type { ApplyRequest, ApplySpec } from '../shared/apply.ts'
import type { Location } from '../shared/aws/location.ts'
import { credentials, roleValues, unlessEmpty } from '../shared/variables.ts'

/** What a machine takes from its control plane: the same region, name and credentials. */
interface Home {
  /** The WorkspaceTemplateApply of the control plane; an adopted one has none. */
  readonly apply: string | undefined
  readonly clusterName: string
  readonly region: string
  readonly values: { readonly [name: string]: Json }
  readonly credentials: Pick<ApplySpec, 'credentialsRef'>
}

/** Undefined for an apply that does not say where it is. */
export function homeOf({ metadata, spec }: WorkspaceTemplateApply): Home | undefined {
  const { cluster_name: clusterName, region } = spec.variables ?? {}
  if (!clusterName || !region) return undefined
  const kept = ['assume_role_arn', 'assume_role_external_id'].flatMap((name) => {
    const value = spec.values?.[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    apply: metadata.name,
    clusterName,
    region,
    values: Object.fromEntries(kept),
    credentials: spec.credentialsRef ? { credentialsRef: spec.credentialsRef } : {},
  }
}

/** Of an adopted control plane: what EKS and the CAPTCluster say stands where the run of another has it. */
export function homeOfAdopted({ inAws, region, identity }: Location): Home {
  const values = roleValues(identity)
  return { apply: undefined, clusterName: inAws, region, values, credentials: credentials(identity) }
}

/** What is known of a machine beside its spec. */
export interface Placement {
  readonly cluster: string
  readonly home: Home
  /** Name of the node group in AWS. */
  readonly nodeGroup: string | undefined
  /** Secret whose key `value` is the user data; empty where the template makes it. */
  readonly userDataSecret: string
  /** Availability zone that the core Machine asks for. */
  readonly zone: string | undefined
  /** Minor version of Kubernetes that the core Machine asks for. */
  readonly version: string | undefined
  /** Labels that the node joins with. Later changes reach the Node without a run. */
  readonly labels: Json | undefined
}

export const machineApplyName = (name: string): string => `${name}-machine`
export const userDataSecretName = (name: string): string => `${name}-user-data`

export function machineRequest(object: CAPTMachine, placement: Placement): ApplyRequest {
  const { spec } = object
  const { name, namespace = '' } = object.metadata
  const { cluster, home, nodeGroup, userDataSecret, zone, version, labels } = placement
  return {
    name: machineApplyName(name),
    namespace,
    cluster,
    owner: object,
    spec: {
      templateRef: { namespace, ...spec.workspaceTemplateRef },
      variables: {
        cluster_name: home.clusterName,
        region: home.region,
        machine_name: name,
        instance_type: spec.instanceType,
        user_data_secret: userDataSecret,
        ...text('node_group', nodeGroup),
        ...text('node_role_name', spec.nodeRoleName),
        ...text('image_id', spec.imageId),
        ...text('zone', zone),
        ...text('kubernetes_version', version),
      },
      values: {
        ...unlessEmpty('subnet_ids', spec.subnetIds),
        ...unlessEmpty('security_group_ids', spec.securityGroupIds),
        ...unlessEmpty('labels', labels),
        ...unlessEmpty('tags', spec.tags),
        ...home.values,
      },
      writeConnectionSecretToRef: { name: `${name}-machine-connection`, namespace },
      ...(home.apply === undefined ? {} : { waitForWorkspaces: [{ name: home.apply }] }),
      ...home.credentials,
    },
  }
}

const text = (name: string, value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { [name]: value }
