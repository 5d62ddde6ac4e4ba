// What a CAPTCluster says about itself: the contract's fields in both versions, the network, and where the VPC is.
import { pauseOf } from '#api'
import type { Json } from '#lib'
import type { ConditionDraft, Decision, StatusReport } from '#runtime'
import { vpcIdOf } from './decide.ts'
import { deletingCondition, pausedCondition, stopText } from './life-conditions.ts'
import type { Observed } from './observe.ts'

export function statusOf(seen: Observed, decision: Decision<unknown>): StatusReport {
  const { object, cluster, facts } = seen
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }

  const deleting = object.metadata.deletionTimestamp !== undefined
  const vpcId = vpcIdOf(seen) ?? object.status?.vpcId
  const isProvisioned = cluster !== undefined && vpcIdOf(seen) !== undefined && facts.state.is !== 'absent'
  const isExisting = cluster !== undefined && object.spec.existingVpcId !== undefined
  // One-way: a later failure is told by the conditions, never by taking back that the VPC was provisioned.
  const provisioned = object.status?.initialization?.provisioned === true || isProvisioned || isExisting
  return {
    fields: {
      ...(provisioned ? { ready: true, initialization: { provisioned: true } } : {}),
      vpcId,
      ...networkOf(seen),
      ...(seen.apply
        ? {
            vpcWorkspaceName: seen.apply.metadata.name,
            workspaceTemplateStatus: {
              ready: facts.state.is === 'applied',
              workspaceName: seen.apply.metadata.name,
              lastAppliedRevision: facts.revision,
              lastFailureMessage: facts.failure,
            },
          }
        : {}),
    },
    conditions: [paused, deletingCondition(deleting, decision), vpcCondition(seen, decision)],
  }
}

function networkOf({ object, facts }: Observed) {
  const { existingSubnets, existingVpcId } = object.spec
  if (existingVpcId)
    return { privateSubnets: existingSubnets?.private ?? [], publicSubnets: existingSubnets?.public ?? [] }
  const fresh = {
    privateSubnets: listOf(facts.outputs['private_subnets']),
    publicSubnets: listOf(facts.outputs['public_subnets']),
    availabilityZones: listOf(facts.outputs['azs']),
  }
  return Object.fromEntries(Object.entries(fresh).filter(([, value]) => value !== undefined))
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
