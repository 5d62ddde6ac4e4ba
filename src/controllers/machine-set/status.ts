// Status of a CAPTMachineSet: how many machines there are and how far they are.
import { pauseOf } from '#api'
import { hasLabels } from '#lib'
import type { Decision, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition } from '../shared/conditions.ts'
import { selectorText } from './facts.ts'
import type { Observed } from './observe.ts'

export function statusOf({ object, cluster, machines, facts }: Observed, decision: Decision<unknown>): StatusReport {
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }
  const active = facts.filter(({ isDeleting }) => !isDeleting)
  const { labels } = object.spec.template.metadata ?? {}
  const labelled = machines.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined && hasLabels(metadata.labels, labels),
  )
  return {
    fields: {
      selector: selectorText(object.spec.selector),
      replicas: active.length,
      fullyLabeledReplicas: labelled.length,
      readyReplicas: active.filter(({ isReady }) => isReady).length,
      availableReplicas: active.filter(({ isAvailable }) => isAvailable).length,
    },
    conditions: [paused, deletingCondition(object.metadata.deletionTimestamp !== undefined, decision)],
  }
}
