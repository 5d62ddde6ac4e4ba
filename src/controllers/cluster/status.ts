// Status of a CAPTCluster: the contract's fields in both versions, the network, and the apply behind the VPC.
import { pauseOf } from '#api'
import { definedFields, type Json } from '#lib'
import type { ConditionDraft, Decision, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition, stopText } from '../shared/conditions.ts'
import { vpcIdOf } from './decide.ts'
import type { Observed } from './observe.ts'

export function statusOf(observed: Observed, decision: Decision<unknown>): StatusReport {
  const { object, cluster, facts } = observed
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }

  const deleting = object.metadata.deletionTimestamp !== undefined
  const vpcId = vpcIdOf(observed) ?? object.status?.vpcId
  const isProvisioned = cluster !== undefined && vpcIdOf(observed) !== undefined && facts.state.is !== 'absent'
  const isExisting = cluster !== undefined && object.spec.existingVpcId !== undefined
  // Never set back to false: conditions report a later failure.
  const provisioned = object.status?.initialization?.provisioned === true || isProvisioned || isExisting
  return {
    fields: {
      ...(provisioned ? { ready: true, initialization: { provisioned: true } } : {}),
      vpcId,
      ...(observed.name?.is === 'chosen' ? { clusterName: observed.name.name } : {}),
      ...networkOf(observed),
      ...(observed.apply
        ? {
            vpcWorkspaceName: observed.apply.metadata.name,
            workspaceTemplateStatus: {
              ready: facts.state.is === 'applied',
              workspaceName: observed.apply.metadata.name,
              lastAppliedRevision: facts.revision,
              lastFailureMessage: facts.failure,
            },
          }
        : {}),
    },
    conditions: [paused, deletingCondition(deleting, decision), vpcCondition(observed, decision)],
  }
}

function networkOf({ object, facts }: Observed) {
  const { existingSubnets, existingVpcId } = object.spec
  if (existingVpcId)
    return { privateSubnets: existingSubnets?.private ?? [], publicSubnets: existingSubnets?.public ?? [] }
  return definedFields({
    privateSubnets: listOf(facts.outputs['private_subnets']),
    publicSubnets: listOf(facts.outputs['public_subnets']),
    availabilityZones: listOf(facts.outputs['azs']),
  })
}

function listOf(value: Json | undefined): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined
}

function vpcCondition({ object, facts }: Observed, decision: Decision<unknown>): ConditionDraft {
  const type = 'VPCReady'
  if (object.spec.existingVpcId)
    return { type, status: 'True', reason: 'ExistingVPCUsed', message: `Using ${object.spec.existingVpcId}` }
  if (facts.state.is === 'applied' && typeof facts.outputs['vpc_id'] === 'string')
    return { type, status: 'True', reason: 'VPCCreated', message: `Made ${facts.outputs['vpc_id']}` }
  if (decision.is === 'stalled') return { type, status: 'False', reason: decision.reason, message: stopText(decision) }
  if (decision.is === 'waiting') return { type, status: 'False', reason: decision.reason, message: decision.message }
  return { type, status: 'False', reason: 'VPCCreating', message: 'Asking for the VPC' }
}
