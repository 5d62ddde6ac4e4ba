// Status of a CAPTMachineDeployment: the counts, and the conditions that people know from Deployments.
import { pauseOf } from '#api'
import type { ConditionDraft, Decision, StatusReport } from '#runtime'
import { selectorText } from '../machine-set/facts.ts'
import { deletingCondition, pausedCondition, stopText } from '../shared/conditions.ts'
import type { Observed } from './observe.ts'
import { type Counts, countsOf, isComplete, lastProgress, progressText } from './progress.ts'
import { minAvailable, resolveStrategy } from './rollout.ts'

export function statusOf(observed: Observed, decision: Decision<unknown>): StatusReport {
  const { object, cluster } = observed
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }
  const counts = countsOf(observed)
  return {
    fields: {
      selector: selectorText(object.spec.selector),
      replicas: counts.replicas,
      updatedReplicas: counts.updated,
      readyReplicas: counts.ready,
      availableReplicas: counts.available,
      unavailableReplicas: Math.max(0, Math.max(counts.replicas, object.spec.replicas) - counts.available),
      lastProgressTime: lastProgress(observed, counts),
    },
    conditions: [
      paused,
      deletingCondition(object.metadata.deletionTimestamp !== undefined, decision),
      availableCondition(observed, counts),
      progressingCondition(observed, counts, decision),
    ],
  }
}

function availableCondition(observed: Observed, { available }: Counts): ConditionDraft {
  const { replicas, strategy } = observed.object.spec
  const least = minAvailable(replicas, resolveStrategy(strategy, replicas))
  const message = `${available} of ${replicas} machines are available, at least ${least} are needed`
  return available >= least
    ? { type: 'Available', status: 'True', reason: 'MinimumAvailable', message }
    : { type: 'Available', status: 'False', reason: 'MinimumUnavailable', message }
}

function progressingCondition(observed: Observed, counts: Counts, decision: Decision<unknown>): ConditionDraft {
  const type = 'Progressing'
  if (decision.is === 'stalled') return { type, status: 'False', reason: decision.reason, message: stopText(decision) }
  if (isComplete(observed, counts))
    return { type, status: 'True', reason: 'RolloutComplete', message: progressText(observed, counts) }
  if (observed.object.spec.paused)
    return { type, status: 'Unknown', reason: 'RolloutPaused', message: progressText(observed, counts) }
  return { type, status: 'True', reason: 'RollingOut', message: progressText(observed, counts) }
}
