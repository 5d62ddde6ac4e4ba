// Where an EKS cluster is, for the node groups and machines that join it.
import { type CAPTCluster, type CAPTControlPlane, isAdopted } from '#api'
import { eksApplyName, identityOf, networkOf, regionOf } from '../../control-plane/variables.ts'
import type { Identity } from '../apply.ts'

export interface Location {
  /** Name of the cluster in AWS. */
  readonly inAws: string
  readonly region: string
  readonly vpcId: string | undefined
  readonly privateSubnets: readonly string[]
  readonly identity: Identity | undefined
  /** The apply that makes the control plane; undefined for an adopted one, which exists already. */
  readonly eksApply: string | undefined
}

/** Undefined while the cluster has no name or region. `annotations`: of the Cluster. */
export function locationOf(
  controlPlane: CAPTControlPlane,
  infra: CAPTCluster | undefined,
  cluster: string,
  annotations: Readonly<Record<string, string>> | undefined,
): Location | undefined {
  const network = networkOf(infra, cluster)
  const region = regionOf(controlPlane, network, annotations)
  const reported = outputsOf(controlPlane)['cluster_name']
  const inAws = typeof reported === 'string' && reported !== '' ? reported : network.clusterName
  if (region === undefined || inAws === undefined) return undefined
  return {
    inAws,
    region,
    vpcId: network.vpcId,
    privateSubnets: network.privateSubnets,
    identity: identityOf(controlPlane, network),
    eksApply: isAdopted(controlPlane) ? undefined : eksApplyName(controlPlane, cluster),
  }
}

function outputsOf({ status }: CAPTControlPlane): Readonly<Record<string, unknown>> {
  const outputs = status?.workspaceStatus?.atProvider?.['outputs']
  return (outputs ?? {}) as Readonly<Record<string, unknown>>
}
