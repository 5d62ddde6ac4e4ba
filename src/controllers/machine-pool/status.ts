// Status of a CAPTMachinePool: the contract's fields in both versions, the node group, its nodes, and the apply behind it.
import { pauseOf } from '#api'
import type { ConditionDraft, Decision, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition, stopText } from '../shared/conditions.ts'
import { isProvisioned } from './decide.ts'
import { groupNameOf, type Observed } from './observe.ts'

export function statusOf(observed: Observed, decision: Decision<unknown>): StatusReport {
  const { object, cluster, facts, nodes, apply } = observed
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }

  const deleting = object.metadata.deletionTimestamp !== undefined
  const arn = facts.outputs['node_group_arn']
  const version = facts.outputs['kubernetes_version']
  return {
    fields: {
      ...(isProvisioned(observed) ? { ready: true, initialization: { provisioned: true } } : {}),
      ...(nodes.is === 'known' ? { replicas: nodes.count, readyReplicas: nodes.ready } : {}),
      ...(facts.revision === undefined ? {} : { nodeGroupName: groupNameOf(facts, object.metadata.name) }),
      ...(typeof arn === 'string' ? { nodeGroupArn: arn } : {}),
      ...(typeof version === 'string' ? { version } : {}),
      ...(apply
        ? {
            workspaceTemplateStatus: {
              ready: facts.state.is === 'applied',
              workspaceName: apply.metadata.name,
              lastAppliedRevision: facts.revision,
              lastFailureMessage: facts.failure,
            },
          }
        : {}),
    },
    conditions: [
      paused,
      deletingCondition(deleting, decision),
      groupCondition(observed, decision),
      nodesCondition(observed),
    ],
  }
}

function groupCondition({ facts }: Observed, decision: Decision<unknown>): ConditionDraft {
  const type = 'NodeGroupReady'
  if (facts.state.is === 'applied' && !facts.deleting)
    return { type, status: 'True', reason: 'NodeGroupCreated', message: '' }
  if (decision.is === 'stalled') return { type, status: 'False', reason: decision.reason, message: stopText(decision) }
  if (decision.is === 'waiting') return { type, status: 'False', reason: decision.reason, message: decision.message }
  return { type, status: 'False', reason: 'Creating', message: 'Asking for the node group' }
}

function nodesCondition({ nodes, machinePool }: Observed): ConditionDraft {
  const type = 'NodesReady'
  if (nodes.is === 'unreachable')
    return { type, status: 'Unknown', reason: 'NodesUnknown', message: `The nodes cannot be read: ${nodes.message}` }
  if (nodes.is === 'unread')
    return { type, status: 'False', reason: 'WaitingForNodeGroup', message: 'There is no node group yet' }
  const wanted = machinePool?.isAutoscaled === false ? machinePool.replicas : nodes.count
  if (nodes.ready >= wanted) return { type, status: 'True', reason: 'NodesReady', message: '' }
  return { type, status: 'False', reason: 'NodesNotReady', message: `${nodes.ready} of ${wanted} nodes are ready` }
}
