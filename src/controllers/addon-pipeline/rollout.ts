// The waves of a pipeline: what each delivery says about the newest revision, who gets it next, and what is reported. State is read
// from the deliveries alone, so a restart changes nothing. Pure.
import { type PipelineRollout, ROLLED_OUT, type RolloutStatus } from '#api'
import { decideWaves, hasLabels, parseDuration, toTimestamp, type WaveDecision, type WaveMember } from '#lib'
import { type ConditionDraft, type Decision, stalled, waiting } from '#runtime'
import type { ClusterSummary, DeliverySummary } from '../addon-delivery/summaries.ts'

/** A delivery and the Cluster that it is for. */
export interface Follower {
  readonly delivery: DeliverySummary
  readonly cluster: ClusterSummary
  /** As people see it: the namespace only where it is another one than that of the pipeline. */
  readonly name: string
}

export interface ObservedRollout {
  readonly revision: string
  readonly waves: WaveDecision
  readonly soak: string
  readonly nowMs: number
}

/** `since`: when the newest revision was first seen. */
export function observeRollout(
  { order, maxConcurrent, soak }: PipelineRollout,
  revision: string,
  since: string,
  followers: readonly Follower[],
  nowMs: number,
): ObservedRollout {
  const members = followers
    .filter((one) => !isBornWith(one, revision, since))
    .map((one) => toMember(one, revision, order))
  const options = { maxConcurrent, soakMs: parseDuration(soak) }
  return { revision, waves: decideWaves(members, options, nowMs), soak, nowMs }
}

/** A Cluster that came after the change has had no other revision: it takes part in no wave. */
function isBornWith({ delivery: { assigned, createdAt } }: Follower, revision: string, since: string): boolean {
  return assigned === revision && createdAt !== undefined && Date.parse(createdAt) >= Date.parse(since)
}

export function toMember(
  { delivery, cluster, name }: Follower,
  revision: string,
  order: PipelineRollout['order'],
): WaveMember {
  const found = order.findIndex(({ key, value }) => hasLabels(cluster.labels, { [key]: value }))
  const base = { name, wave: found < 0 ? order.length : found }
  const isHeld = cluster.paused || delivery.isPaused
  if (delivery.assigned !== revision) return { ...base, state: isHeld ? 'paused' : 'behind' }
  const isReported = delivery.revision === revision && delivery.isCurrent
  if (isReported && delivery.isReady) {
    const times = [delivery.readySince, delivery.revisionSince].map((time) => Date.parse(time ?? ''))
    return { ...base, state: 'healthy', sinceMs: Math.max(...times.filter((time) => !Number.isNaN(time)), 0) }
  }
  if (isHeld) return { ...base, state: 'paused' }
  return isReported && delivery.trouble !== undefined
    ? { ...base, state: 'unhealthy', reason: delivery.trouble }
    : { ...base, state: 'moving' }
}

/** What the pipeline waits for; undefined when every Cluster that can has the newest revision. */
export function decideRollout({ waves: decided, soak }: ObservedRollout): Decision<never> | undefined {
  const { wave, waves, moving, notReached, stopped, soakLeftMs } = decided
  const rest = notReached.length > 0 ? `. Not reached: ${listed(notReached)}` : ''
  if (stopped)
    return stalled(
      'WavesStopped',
      `Cluster ${stopped.name} is not healthy: ${stopped.reason}${rest}`,
      `Repair it (capt describe cluster ${lastPart(stopped.name)}), or change the pipeline: a change starts the waves again. A paused Cluster is left out`,
    )
  if (wave === 0) return undefined
  const which = `Wave ${wave} of ${waves}`
  if (soakLeftMs !== undefined)
    return waiting('Soaking', `${which} begins when all before it stayed healthy for ${soak}${rest}`, soakLeftMs / 1000)
  return waiting(
    'RollingOut',
    `${which}: ${listed(moving)} ${moving.length === 1 ? 'receives' : 'receive'} the change${rest}`,
  )
}

export function reportRollout({ revision, waves: decided, nowMs }: ObservedRollout): RolloutStatus {
  const { wave, waves, healthy, moving, notReached, paused, stopped, soakLeftMs } = decided
  return {
    revision,
    wave,
    waves,
    updated: healthy.length,
    ...(moving.length > 0 ? { moving } : {}),
    ...(notReached.length > 0 ? { notReached } : {}),
    ...(paused.length > 0 ? { paused } : {}),
    // Whole seconds, from a start that does not change: the time stays the same while it is waited for.
    ...(soakLeftMs === undefined ? {} : { soakUntil: toTimestamp(Math.ceil((nowMs + soakLeftMs) / 1000) * 1000) }),
    ...(stopped ? { stopped: { cluster: stopped.name, reason: stopped.reason } } : {}),
  }
}

export function rolloutCondition(observed: ObservedRollout): ConditionDraft {
  const decision = decideRollout(observed)
  const { paused } = observed.waves
  const left = paused.length > 0 ? `Paused, with an earlier revision: ${listed(paused)}` : ''
  if (!decision || decision.is === 'done' || decision.is === 'act')
    return paused.length > 0
      ? { type: ROLLED_OUT, status: 'False', reason: 'ClustersPaused', message: left }
      : { type: ROLLED_OUT, status: 'True', reason: 'RolledOut', message: '' }
  const message = left === '' ? decision.message : `${decision.message}. ${left}`
  return { type: ROLLED_OUT, status: 'False', reason: decision.reason, message }
}

const lastPart = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

const SHOWN = 10
function listed(names: readonly string[]): string {
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''
  return `${names.slice(0, SHOWN).join(', ')}${more}`
}
