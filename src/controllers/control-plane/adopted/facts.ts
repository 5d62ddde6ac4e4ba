// An adopted EKS cluster in the shape of a run that has succeeded: what EKS says stands where outputs of Terraform stand otherwise. Pure.
// Until EKS was asked, and while it is not asked, the outputs of the last report count.
import type { CAPTControlPlane } from '#api'
import { fieldsOf, type JsonObject } from '#lib'
import type { ApplyFacts } from '../../shared/apply.ts'
import type { Described } from './descriptions.ts'

export function factsOfAdopted(object: CAPTControlPlane, { name, cluster }: Described): ApplyFacts {
  const isAnswering = cluster !== undefined && cluster.endpoint !== '' && cluster.caData !== ''
  const outputs: ApplyFacts['outputs'] = isAnswering
    ? {
        cluster_name: name,
        cluster_endpoint: cluster.endpoint,
        cluster_certificate_authority_data: cluster.caData,
        cluster_version: cluster.version,
        cluster_arn: cluster.arn,
        ...(cluster.vpcId === undefined ? {} : { vpc_id: cluster.vpcId }),
        ...(cluster.serviceCidr === undefined ? {} : { cluster_service_cidr: cluster.serviceCidr }),
      }
    : reportedOutputs(object)
  const isKnown = Object.keys(outputs).length > 0
  return {
    state: isKnown ? { is: 'applied' } : { is: 'absent' },
    deleting: false,
    running: false,
    outputs,
    revision: isKnown ? 'adopted' : undefined,
    appliedAt: undefined,
    phase: undefined,
    failure: undefined,
  }
}

const reportedOutputs = ({ status }: CAPTControlPlane) =>
  fieldsOf(status?.workspaceStatus?.atProvider?.['outputs']) as JsonObject
