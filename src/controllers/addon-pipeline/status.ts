// The status of an AddonPipeline: counts, and how far its newest revision has come.
import { conditionOf, ROLLED_OUT } from '#api'
import type { Decision, FailedAttempt, StatusReport } from '#runtime'
import type { ObservedPipeline, PipelineAction } from './observed.ts'
import { reportRollout, rolloutCondition } from './rollout.ts'

export function reportPipeline(observed: ObservedPipeline, decision: Decision<PipelineAction>): StatusReport {
  const { pipeline, clusters, deliveries, rollout, revisions } = observed
  const counts = { clusters: clusters.length, ready: deliveries.filter(({ isReady }) => isReady).length }
  if (!rollout) {
    const hadWaves = conditionOf(pipeline, ROLLED_OUT) !== undefined
    const over = {
      type: ROLLED_OUT,
      status: 'True',
      reason: 'NoWaves',
      message: 'A change reaches every Cluster at once',
    }
    return {
      fields: { ...counts, rollout: undefined, revisions: undefined },
      ...(hadWaves ? { conditions: [over as never] } : {}),
    }
  }
  return {
    fields: { ...counts, rollout: reportRollout(rollout), revisions },
    conditions: [rolloutCondition(rollout)],
    failed: newStop(observed, decision),
  }
}

/** Once for each Cluster that stops the waves of a revision: its reason may change while it is looked at. */
function newStop(
  { pipeline, rollout }: ObservedPipeline,
  decision: Decision<PipelineAction>,
): readonly FailedAttempt[] {
  if (decision.is !== 'stalled' || !rollout?.waves.stopped) return []
  const { rollout: before } = pipeline.status ?? {}
  const isKnown = before?.stopped?.cluster === rollout.waves.stopped.name && before.revision === rollout.revision
  const { reason, message, hint } = decision
  return isKnown ? [] : [{ class: 'rollout', reason, message, hint }]
}
