// Decides whether an adopted EKS cluster can be used: it is asked for, exists and answers. Pure.
import { act, type Decision, stalled, waiting } from '#runtime'
import type { Action } from '../decide.ts'
import type { Observed } from '../observe.ts'
import { isUp } from './descriptions.ts'

/** Undefined when it goes on like a control plane whose run has succeeded. */
export function decideAdopted({ described, facts }: Observed): Decision<Action> | undefined {
  if (!described || described.isDue) return act({ do: 'describe' })
  const { fault, cluster, name, retryAfterSeconds } = described
  if (fault?.isMissing) return stalled('EKSClusterNotFound', fault.message, fault.hint, retryAfterSeconds)
  // A cluster that was read before stays in use while AWS does not answer.
  if (fault && facts.state.is !== 'applied')
    return stalled('EKSClusterUnreadable', fault.message, fault.hint, retryAfterSeconds)
  if (cluster && !isUp(cluster))
    return waiting('EKSClusterNotActive', `EKS cluster ${name} is ${cluster.status}`, retryAfterSeconds)
  return undefined
}
