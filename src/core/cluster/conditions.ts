// The conditions of a Cluster in v1beta2, with the types and reasons of core Cluster API, so that clusterctl describe
// and people's habits work here too.
import { conditionOf, findCondition } from '#api'
import type { ConditionDraft } from '#runtime'
import { draft } from '../condition.ts'
import { type Part, statusFieldsOf } from '../referenced-objects.ts'
import { isPaused } from './decide.ts'
import { isInitialized, isProvisioned, type Observed } from './observe.ts'

export function conditionsOfCluster(observed: Observed): readonly ConditionDraft[] {
  if (isPaused(observed)) {
    const cause = observed.facts.paused
      ? 'Cluster spec.paused is set to true'
      : 'Cluster has the cluster.x-k8s.io/paused annotation'
    return [draft('Paused', 'True', 'Paused', cause)]
  }
  const { facts, infrastructure, controlPlane } = observed
  const initialized = isInitialized(observed)
  const rolling = findCondition(statusFieldsOf(controlPlane)['conditions'], 'RollingOut')
  const gated: readonly ConditionDraft[] = [
    deleting(observed),
    ...remoteConnection(observed),
    mirror('InfrastructureReady', infrastructure, 'Ready', isProvisioned(observed), facts.deleting),
    mirror('ControlPlaneAvailable', controlPlane, 'Available', initialized, facts.deleting),
    workersAvailable(observed),
  ]
  const rest: readonly ConditionDraft[] = [
    draft('Paused', 'False', 'NotPaused'),
    initialized
      ? draft('ControlPlaneInitialized', 'True', 'Initialized')
      : draft('ControlPlaneInitialized', 'False', 'NotInitialized', 'Control plane not yet initialized'),
    draft('ControlPlaneMachinesReady', 'True', 'NoReplicas'),
    draft('ControlPlaneMachinesUpToDate', 'True', 'NoReplicas'),
    draft('WorkerMachinesReady', 'True', 'NoReplicas'),
    draft('WorkerMachinesUpToDate', 'True', 'NoReplicas'),
    rolling?.status === 'True'
      ? draft('RollingOut', 'True', 'RollingOut', rolling.message)
      : draft('RollingOut', 'False', 'NotRollingOut'),
    draft('ScalingUp', 'False', 'NotScalingUp'),
    draft('ScalingDown', 'False', 'NotScalingDown'),
    draft('Remediating', 'False', 'NotRemediating'),
  ]
  return [...gated, ...rest, available([...gated, ...gatesOf(observed)])]
}

function workersAvailable({ workers }: Observed): ConditionDraft {
  const type = 'WorkersAvailable'
  if (workers.length === 0) return draft(type, 'True', 'NoWorkers')
  const lines = workers.flatMap((worker) => {
    const found = conditionOf(worker, 'Available')
    const { name } = worker.metadata
    return found?.status === 'True' ? [] : [`* MachinePool ${name}: ${found?.message || 'not available yet'}`]
  })
  if (lines.length === 0) return draft(type, 'True', 'Available')
  return draft(type, 'False', 'NotAvailable', lines.sort().join('\n'))
}

function deleting({ facts, controlPlane, infrastructure, workers }: Observed): ConditionDraft {
  if (!facts.deleting) return draft('Deleting', 'False', 'NotDeleting')
  if (workers.length > 0) {
    const names = workers.map(({ metadata }) => metadata.name).sort()
    return draft('Deleting', 'True', 'WaitingForWorkersDeletion', `* MachinePools: ${names.join(', ')}`)
  }
  for (const [part, reason] of [
    [controlPlane, 'WaitingForControlPlaneDeletion'],
    [infrastructure, 'WaitingForInfrastructureDeletion'],
  ] as const) {
    if (!part?.object) continue
    const why = findCondition(statusFieldsOf(part)['conditions'], 'Deleting')?.message
    const waiting = `Waiting for ${part.ref.kind} to be deleted`
    return draft('Deleting', 'True', reason, why ? `* ${waiting}: ${why}` : `* ${waiting}`)
  }
  return draft('Deleting', 'True', 'DeletionCompleted')
}

/** Absent where nobody probes: a probe that was not made is not reported. */
function remoteConnection({ probe }: Observed): readonly ConditionDraft[] {
  const type = 'RemoteConnectionProbe'
  if (probe.is === 'succeeded') return [draft(type, 'True', 'ProbeSucceeded')]
  if (probe.is === 'failed') return [draft(type, 'False', 'ProbeFailed', probe.message)]
  if (probe.is === 'unprobed') return []
  return [draft(type, 'False', 'ProbeFailed', 'Remote connection not established yet')]
}

/** Mirrors the condition that the part itself reports, as long as it exists. */
function mirror(
  type: string,
  part: Part | undefined,
  from: string,
  initialized: boolean,
  deleting: boolean,
): ConditionDraft {
  const good = from === 'Ready' ? 'Ready' : 'Available'
  if (!part) return draft(type, 'False', 'ObjectDoesNotExist', 'The Cluster refers to no object')
  if (!part.kind) return draft(type, 'Unknown', 'InvalidConditionReported', `${part.ref.kind} is not served here`)
  if (!part.object) {
    const gone = deleting && initialized
    const message = gone ? `${part.ref.kind} has been deleted` : `${part.ref.kind} does not exist`
    return draft(type, 'False', gone || initialized ? 'ObjectDeleted' : 'ObjectDoesNotExist', message)
  }
  const reported = findCondition(statusFieldsOf(part)['conditions'], from)
  if (reported && (reported.status === 'True' || reported.status === 'False' || reported.status === 'Unknown'))
    return draft(type, reported.status, reported.reason || 'NoReasonReported', reported.message)
  if (initialized) return draft(type, 'True', good)
  return draft(type, 'False', `Not${good}`, `${part.ref.kind} has not reported yet`)
}

/** Conditions on the Cluster that others set and that spec.availabilityGates names. */
function gatesOf({ object }: Observed): readonly (ConditionDraft & { readonly negative?: boolean })[] {
  const { spec, status } = object as unknown as {
    spec?: { availabilityGates?: readonly { conditionType: string; polarity?: string }[] }
    status?: { conditions?: unknown }
  }
  return (spec?.availabilityGates ?? []).map(({ conditionType, polarity }) => {
    const found = findCondition(status?.conditions, conditionType)
    const negative = polarity === 'Negative'
    if (!found) return { ...draft(conditionType, 'Unknown', 'NotYetReported', 'Condition not yet reported'), negative }
    return { ...draft(conditionType, found.status as ConditionDraft['status'], found.reason, found.message), negative }
  })
}

function available(gates: readonly (ConditionDraft & { readonly negative?: boolean })[]): ConditionDraft {
  const isBad = (gate: ConditionDraft & { readonly negative?: boolean }): boolean =>
    gate.status === (gate.negative || gate.type === 'Deleting' ? 'True' : 'False')
  const bad = gates.filter(isBad)
  const unknown = gates.filter((gate) => gate.status === 'Unknown')
  const lines = [...bad, ...unknown].map(
    ({ type, message, reason }) => `* ${type}: ${message.replace(/^\* /, '') || reason}`,
  )
  if (bad.length > 0) return draft('Available', 'False', 'NotAvailable', lines.join('\n'))
  if (unknown.length > 0) return draft('Available', 'Unknown', 'AvailableUnknown', lines.join('\n'))
  return draft('Available', 'True', 'Available')
}
