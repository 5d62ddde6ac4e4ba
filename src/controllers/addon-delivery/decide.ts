// Decides the next step for one AddonDelivery: teardown first, then what stops everything, then stage by stage.
// Pure: same observation, same decision.
import { ALLOW_NAMESPACES_ANNOTATION, type AnyObject } from '#api'
import { act, type Decision, done, doneFor, hasFinalizer, lifecycleOf, stalled, waiting } from '#runtime'
import { keepReady } from '../shared/pause.ts'
import { CONFIRM_REMOVAL_ANNOTATION, DELIVERY_FINALIZER, RELEASE_ANNOTATION } from './names.ts'
import type { DeliveryAction, ObservedDelivery } from './observed.ts'
import { openProbes } from './probe/probe.ts'
import { recheckSeconds } from './recheck.ts'
import { decideStage } from './stages/decide-stage.ts'
import type { StageDecision } from './stages/verdict.ts'
import { decideTeardown } from './teardown/decide.ts'

/** How often a workload is polled that makes progress but has no watch. */
const POLL_SECONDS = 15

export function decideDelivery(observed: ObservedDelivery): Decision<DeliveryAction> {
  const { delivery, teardown } = observed
  const lifecycle = lifecycleOf(delivery, DELIVERY_FINALIZER, observed.pause)
  const isGoing = delivery.metadata.deletionTimestamp !== undefined
  if (lifecycle === 'released') return doneFor(recheckSeconds(delivery.metadata.uid))
  if (lifecycle === 'moved') return act<DeliveryAction>({ do: 'remove-finalizer' })
  if (isGoing && isReleased(delivery)) return act<DeliveryAction>(...dropProbes(observed), { do: 'remove-finalizer' })
  if (lifecycle === 'paused') return keepReady(delivery)
  if (teardown) return decideGoing(observed, isGoing)
  if (!hasFinalizer(delivery, DELIVERY_FINALIZER)) return act<DeliveryAction>({ do: 'add-finalizer' })
  if (!observed.isAdopted) return act<DeliveryAction>({ do: 'adopt' })
  return stopOf(observed) ?? mergeStageDecisions(observed)
}

function decideGoing(observed: ObservedDelivery, isGoing: boolean): Decision<DeliveryAction> {
  const { decision, isOver, summary } = decideTeardown(observed.teardown!, observed.nowMs)
  const { finished, leftovers } = observed.teardown!
  // Leftovers are reported before the delivery may go.
  const isReported = finished !== undefined || leftovers.length === 0
  if (isOver && isGoing && isReported) return act<DeliveryAction>({ do: 'remove-finalizer' })
  if (isOver && isGoing) return waiting('TornDown', summary, 0.1)
  // A confirmation holds for one removal.
  if (isOver && CONFIRM_REMOVAL_ANNOTATION in (observed.delivery.metadata.annotations ?? {}))
    return act<DeliveryAction>({ do: 'clear-confirmation' })
  if (isOver)
    return observed.teardown!.cause === 'cluster' ? waiting('TornDown', summary) : waiting('Removed', summary, 1)
  if (decision.is !== 'act') return decision
  return act<DeliveryAction>(...decision.actions.map((action) => ({ do: 'teardown' as const, action })))
}

const isReleased = ({ metadata }: AnyObject): boolean => RELEASE_ANNOTATION in (metadata.annotations ?? {})

/** Nothing is uninstalled, but temporary pods must not stay. */
function dropProbes({ delivery, workload }: ObservedDelivery): readonly DeliveryAction[] {
  if (workload.is !== 'open') return []
  return openProbes(delivery).map((stage) => ({ do: 'remove-probe', stage }))
}

/** What blocks every stage. */
function stopOf(observed: ObservedDelivery): Decision<DeliveryAction> | undefined {
  const { spec } = observed.delivery
  if (!observed.cluster) return waiting('ClusterMissing', `There is no Cluster ${spec.clusterName}`)
  if (observed.isPipelineForbidden) {
    const { name, namespace } = spec.pipelineRef
    const message = `AddonPipeline ${namespace}/${name} does not allow deliveries of namespace ${observed.delivery.metadata.namespace}`
    const hint = `Use a pipeline of this namespace, or ask its owner for the annotation ${ALLOW_NAMESPACES_ANNOTATION}`
    return stalled('PipelineForbidden', message, hint)
  }
  if (!observed.pipeline) {
    const message = `There is no AddonPipeline ${spec.pipelineRef.name}`
    return stalled('PipelineMissing', message, 'Create it again, or delete this AddonDelivery to take its add-ons away')
  }
  if (observed.pipeline.metadata.deletionTimestamp) {
    const message = `AddonPipeline ${spec.pipelineRef.name} is being deleted`
    return stalled('PipelineDeleting', message, 'Delete this AddonDelivery to take its add-ons away, or the Cluster')
  }
  if (observed.conflict)
    return stalled(
      'PipelineConflict',
      observed.conflict,
      'Let one pipeline alone select this Cluster, or rename the stage',
    )
  if (observed.planFault) return stalled('PipelineInvalid', observed.planFault.message, observed.planFault.hint)
  if (spec.suspend) return waiting('Suspended', 'spec.suspend is set')
  if (observed.revision?.is === 'unknown')
    return waiting(
      'WaitingForWave',
      `Revision ${observed.revision.revision} is left as it is until the wave of this Cluster`,
    )
  if (!observed.areSetsServed) {
    const message = 'The API server does not serve ClusterResourceSet'
    return stalled(
      'ResourceSetsNotServed',
      message,
      'Install Cluster API 1.4 or later; before 1.10 set EXP_CLUSTER_RESOURCE_SET=true',
      300,
    )
  }
  const [fault] = observed.faults
  return fault
    ? stalled('VersionMismatch', observed.faults.map((one) => one.message).join('; '), fault.hint)
    : undefined
}

export function decideStages(observed: ObservedDelivery): readonly StageDecision[] {
  const decided: StageDecision[] = []
  for (const stage of observed.stages) decided.push(decideStage(stage, observed, decided))
  return decided
}

function mergeStageDecisions(observed: ObservedDelivery): Decision<DeliveryAction> {
  const decided = decideStages(observed)
  const actions = decided.flatMap(({ decision }) => (decision.is === 'act' ? decision.actions : []))
  if (actions.length > 0) {
    const label: DeliveryAction[] = observed.isLabelled ? [] : [{ do: 'label-cluster' }]
    return act<DeliveryAction>(...label, ...actions)
  }
  const decisions = decided.map(({ decision }) => decision)
  const worst = decisions.find(({ is }) => is === 'stalled') ?? decisions.find(({ is }) => is === 'waiting')
  if (!worst || worst.is === 'done') {
    // Nothing to recheck: stages are requested by labels, and labels are watched.
    if (decided.every(({ observed: { isWanted } }) => !isWanted)) return done
    return doneFor(recheckSeconds(observed.delivery.metadata.uid))
  }
  const isChecking = decided.some(({ state }) => state === 'Checking')
  const poll: Decision<DeliveryAction>[] =
    isChecking && !observed.isWatched ? [waiting('Polling', '', POLL_SECONDS)] : []
  return { ...worst, ...soonest([...decisions, ...poll]) } as Decision<DeliveryAction>
}

/** The earliest retry of all stages, whichever stage the condition reports. */
function soonest(decisions: readonly Decision<DeliveryAction>[]): { retryAfterSeconds?: number } {
  const times = decisions.flatMap((one) =>
    one.is !== 'act' && one.retryAfterSeconds !== undefined ? [one.retryAfterSeconds] : [],
  )
  return times.length === 0 ? {} : { retryAfterSeconds: Math.min(...times) }
}
