// Status of a CAPTMachine: the contract's fields in both versions, the instance, and the health of its Node.
import { pauseOf } from '#api'
import type { ConditionDraft, Decision, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition, stopText } from '../shared/conditions.ts'
import { toAddresses } from './instance.ts'
import type { Observed } from './observe.ts'

export function statusOf(observed: Observed, decision: Decision<unknown>): StatusReport {
  const { object, cluster, facts, instance, apply, node } = observed
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }

  const deleting = object.metadata.deletionTimestamp !== undefined
  // Never set back to false: conditions report a later failure.
  const provisioned =
    object.status?.initialization?.provisioned === true ||
    (instance !== undefined && object.spec.providerID !== undefined)
  return {
    fields: {
      ...(provisioned ? { ready: true, initialization: { provisioned: true } } : {}),
      ...(instance
        ? {
            instanceId: instance.id,
            privateIp: instance.privateIp,
            failureDomain: instance.zone,
            addresses: toAddresses(instance),
          }
        : {}),
      ...(node.is === 'found' ? { nodeRef: { name: node.name } } : {}),
      ...(apply
        ? {
            version: apply.spec.variables?.['kubernetes_version'],
            workspaceTemplateStatus: {
              ready: facts.state.is === 'applied',
              workspaceName: apply.metadata.name,
              lastFailureMessage: facts.failure,
            },
          }
        : {}),
    },
    conditions: [
      paused,
      deletingCondition(deleting, decision),
      instanceCondition(observed, decision),
      ...(node.is === 'unread' && deleting ? [] : [nodeCondition(observed)]),
    ],
  }
}

function instanceCondition({ facts, instance }: Observed, decision: Decision<unknown>): ConditionDraft {
  const type = 'InstanceReady'
  if (instance && facts.state.is === 'applied')
    return { type, status: 'True', reason: 'InstanceRunning', message: `Made ${instance.id}` }
  if (decision.is === 'stalled') return { type, status: 'False', reason: decision.reason, message: stopText(decision) }
  if (decision.is === 'waiting') return { type, status: 'False', reason: decision.reason, message: decision.message }
  return { type, status: 'False', reason: 'Creating', message: 'Asking for the instance' }
}

function nodeCondition({ node, instance }: Observed): ConditionDraft {
  const type = 'NodeHealthy'
  if (node.is === 'found' && node.isReady)
    return { type, status: 'True', reason: 'NodeReady', message: `Node ${node.name} is ready` }
  if (node.is === 'found')
    return { type, status: 'False', reason: 'NodeNotReady', message: `Node ${node.name} is not ready: ${node.message}` }
  if (node.is === 'unreachable')
    return {
      type,
      status: 'Unknown',
      reason: 'WorkloadUnreachable',
      message: `The Node cannot be read: ${node.message}`,
    }
  if (node.is === 'absent')
    return { type, status: 'False', reason: 'NodeMissing', message: 'The instance has not joined the cluster' }
  const message = instance ? 'The template has no output node_name' : 'Waiting for the instance'
  return { type, status: 'Unknown', reason: 'NodeUnknown', message }
}
