// Decides the next step for one AddonDelivery: teardown first, then what stops everything, then stage by stage.
// Pure: same observation, same decision.
import { ALLOW_NAMESPACES_ANNOTATION, type AnyObject, isDeletedForMove } from '#api'
import { act, type Decision, done, doneFor, hasFinalizer, stalled, waiting } from '#runtime'
import type { DeliveryAction, DeliverySeen } from './delivery-seen.ts'
import { judgeStage } from './judge-stage.ts'
import { DELIVERY_FINALIZER, RELEASE_ANNOTATION } from './names.ts'
import { openProbes } from './probe.ts'
import { recheckSeconds } from './recheck.ts'
import { judgeTeardown } from './teardown.ts'
import type { StageJudgement } from './verdict.ts'

/** How often a workload is looked at that makes progress but has no watch. */
const POLL_SECONDS = 15

export function decideDelivery(seen: DeliverySeen): Decision<DeliveryAction> {
  const { delivery, teardown } = seen
  const isHeld = hasFinalizer(delivery, DELIVERY_FINALIZER)
  const isGoing = delivery.metadata.deletionTimestamp !== undefined
  if (isGoing && !isHeld) return doneFor(recheckSeconds(delivery.metadata.uid))
  if (isGoing && isDeletedForMove(delivery)) return act<DeliveryAction>({ do: 'remove-finalizer' })
  if (isGoing && isReleased(delivery)) return act<DeliveryAction>(...dropProbes(seen), { do: 'remove-finalizer' })
  if (seen.pause) return waiting('Paused', seen.pause)
  if (teardown) return decideTeardown(seen, isGoing)
  if (!isHeld) return act<DeliveryAction>({ do: 'add-finalizer' })
  if (!seen.isAdopted) return act<DeliveryAction>({ do: 'adopt' })
  return stopOf(seen) ?? decideStages(seen)
}

function decideTeardown(seen: DeliverySeen, isGoing: boolean): Decision<DeliveryAction> {
  const { decision, isOver, summary } = judgeTeardown(seen.teardown!, seen.nowMs)
  const { finished, leftovers } = seen.teardown!
  // What is left is reported before the delivery may go.
  const isReported = finished !== undefined || leftovers.length === 0
  if (isOver && isGoing && isReported) return act<DeliveryAction>({ do: 'remove-finalizer' })
  if (isOver && isGoing) return waiting('TornDown', summary, 0.1)
  if (isOver) return seen.teardown!.cause === 'cluster' ? waiting('TornDown', summary) : waiting('Removed', summary, 1)
  if (decision.is !== 'act') return decision
  return act<DeliveryAction>(...decision.actions.map((action) => ({ do: 'teardown' as const, action })))
}

const isReleased = ({ metadata }: AnyObject): boolean => RELEASE_ANNOTATION in (metadata.annotations ?? {})

/** Nothing is uninstalled, but what was only there for a moment must not stay for ever. */
function dropProbes({ delivery, workload }: DeliverySeen): readonly DeliveryAction[] {
  if (workload.is !== 'open') return []
  return openProbes(delivery).map((stage) => ({ do: 'remove-probe', stage }))
}

/** What keeps every stage from going on. */
function stopOf(seen: DeliverySeen): Decision<DeliveryAction> | undefined {
  const { spec } = seen.delivery
  if (!seen.cluster) return waiting('ClusterMissing', `There is no Cluster ${spec.clusterName}`)
  if (seen.isPipelineForbidden) {
    const { name, namespace } = spec.pipelineRef
    const message = `AddonPipeline ${namespace}/${name} does not allow deliveries of namespace ${seen.delivery.metadata.namespace}`
    const hint = `Use a pipeline of this namespace, or ask its owner for the annotation ${ALLOW_NAMESPACES_ANNOTATION}`
    return stalled('PipelineForbidden', message, hint)
  }
  if (!seen.pipeline) {
    const message = `There is no AddonPipeline ${spec.pipelineRef.name}`
    return stalled('PipelineMissing', message, 'Create it again, or delete this AddonDelivery to take its add-ons away')
  }
  if (seen.pipeline.metadata.deletionTimestamp) {
    const message = `AddonPipeline ${spec.pipelineRef.name} is being deleted`
    return stalled('PipelineDeleting', message, 'Delete this AddonDelivery to take its add-ons away, or the Cluster')
  }
  if (seen.conflict)
    return stalled('PipelineConflict', seen.conflict, 'Let one pipeline alone select this Cluster, or rename the stage')
  if (seen.planFault) return stalled('PipelineInvalid', seen.planFault.message, seen.planFault.hint)
  if (spec.suspend) return waiting('Suspended', 'spec.suspend is set')
  if (!seen.areSetsServed) {
    const message = 'The API server does not serve ClusterResourceSet'
    return stalled(
      'ResourceSetsNotServed',
      message,
      'Install Cluster API 1.4 or later; before 1.10 set EXP_CLUSTER_RESOURCE_SET=true',
      300,
    )
  }
  const [fault] = seen.faults
  return fault ? stalled('VersionMismatch', seen.faults.map((one) => one.message).join('; '), fault.hint) : undefined
}

export function judgeStages(seen: DeliverySeen): readonly StageJudgement[] {
  const judged: StageJudgement[] = []
  for (const stage of seen.stages) judged.push(judgeStage(stage, seen, judged))
  return judged
}

function decideStages(seen: DeliverySeen): Decision<DeliveryAction> {
  const judged = judgeStages(seen)
  const actions = judged.flatMap(({ decision }) => (decision.is === 'act' ? decision.actions : []))
  if (actions.length > 0) {
    const label: DeliveryAction[] = seen.isLabelled ? [] : [{ do: 'label-cluster' }]
    return act<DeliveryAction>(...label, ...actions)
  }
  const decisions = judged.map(({ decision }) => decision)
  const worst = decisions.find(({ is }) => is === 'stalled') ?? decisions.find(({ is }) => is === 'waiting')
  if (!worst || worst.is === 'done') {
    // Nothing to look after: a wish is a label, and labels are watched.
    if (judged.every(({ seen: { isWanted } }) => !isWanted)) return done
    return doneFor(recheckSeconds(seen.delivery.metadata.uid))
  }
  const isChecking = judged.some(({ state }) => state === 'Checking')
  const poll: Decision<DeliveryAction>[] = isChecking && !seen.isWatched ? [waiting('Polling', '', POLL_SECONDS)] : []
  return { ...worst, ...soonest([...decisions, ...poll]) } as Decision<DeliveryAction>
}

/** Every stage that wants to be looked at again must be, whichever stage speaks for the whole. */
function soonest(decisions: readonly Decision<DeliveryAction>[]): { retryAfterSeconds?: number } {
  const times = decisions.flatMap((one) =>
    one.is !== 'act' && one.retryAfterSeconds !== undefined ? [one.retryAfterSeconds] : [],
  )
  return times.length === 0 ? {} : { retryAfterSeconds: Math.min(...times) }
}
