// Decides the next step of one stage. Pure. Read top to bottom: needs, content, workload, what is already installed, the
// gate, then each part delivered and healthy, and last the verification that nodes join, where it is requested.
import type { StageStatus } from '#api'
import { toTimestamp } from '#lib'
import { act, done } from '#runtime'
import type { DeliveryAction, ObservedDelivery, ObservedStage } from '../observed.ts'
import { decideProbe } from '../probe/decide.ts'
import { decidePart } from '../resource-set/decide-part.ts'
import { blockingSet, removalHint } from '../resource-set/foreign-sets.ts'
import { typeOf } from './registry.ts'
import type { Rendered } from './render/rendered.ts'
import type { Blocker } from './stage-type.ts'
import { pause, type StageDecision, stop, unreachable, type Verdict } from './verdict.ts'

/** Secrets, and ConfigMaps without the label of a source, are not watched: they are read again after this time. */
const SOURCES_RETRY_SECONDS = 60

/** `earlier` are the decisions of the stages before this one in order. */
export function decideStage(
  observed: ObservedStage,
  all: ObservedDelivery,
  earlier: readonly StageDecision[],
): StageDecision {
  const before = isSameContent(observed) ? observed.before : undefined
  const base = {
    observed,
    attempts: before?.attempts ?? 0,
    lastAttemptAt: before?.lastAttemptAt,
    failedAt: undefined,
    startedAt: before?.startedAt,
  }
  return { ...base, ...verdictOf(observed, all, earlier, before) }
}

function isSameContent({ rendered, before }: ObservedStage): boolean {
  return rendered?.is === 'ready' ? before?.contentHash === rendered.hash : before !== undefined
}

function verdictOf(
  observed: ObservedStage,
  all: ObservedDelivery,
  earlier: readonly StageDecision[],
  before: StageStatus | undefined,
): Verdict {
  const { stage, rendered } = observed
  if (!observed.isWanted) return { state: observed.hasSets ? 'Removing' : 'NotWanted', decision: done }

  if (!rendered && all.faults.length > 0)
    return pause('VersionsRefused', 'Left as it is until the versions that are asked for go together')
  const unready = earlier.filter((other) => stage.needs.includes(other.observed.stage.name) && !allowsDependents(other))
  // What is delivered is still checked when a stage it needs breaks; only what is still to be delivered waits.
  if (unready.length > 0 && !isInPlace(observed)) return pause('NeedsNotReady', `Waiting for ${describeNeeds(unready)}`)
  if (!rendered) return pause('KubernetesVersionUnknown', 'Waiting for the control plane to say its Kubernetes version')
  if (rendered.is === 'missing') return pause(...missing(rendered))
  if (rendered.is === 'refused') {
    const { code, message, hint } = rendered
    return stop('StageRefused', { code, message, hint }, SOURCES_RETRY_SECONDS)
  }
  if (all.workload.is === 'absent') return pause('ControlPlaneNotReady', 'Waiting for the kubeconfig of the cluster')
  if (all.workload.is !== 'open') return unreachable(all.workload)

  const { existing } = observed
  if (existing.is === 'unknown') return pause('NotLookedYet', 'Looking for what is already installed')
  const blocker = findBlocker(observed) ?? findForeignSet(observed, all)
  if (blocker) return stop('Blocked', blocker, 300)
  if (existing.is === 'foreign' || existing.is === 'newer') return typeOf(stage).existing!.decide(observed, all, before)

  const gate: DeliveryAction[] =
    observed.gate && !(observed.gate.isOurs && observed.gate.isSet)
      ? [{ do: 'open-gate', label: observed.gate.label, stage: stage.name }]
      : []
  const startedAt = before?.startedAt ?? toTimestamp(all.nowMs)
  for (const part of observed.parts) {
    const verdict = decidePart(observed, part, all, before, gate)
    // Nothing is retried while a needed stage is broken: that one comes first.
    if (verdict && unready.length > 0) return pause('NeedsNotReady', `Waiting for ${describeNeeds(unready)}`)
    if (verdict) return { startedAt, ...verdict }
  }
  const proof = decideProbe(observed, all, before)
  if (proof && unready.length > 0) return pause('NeedsNotReady', `Waiting for ${describeNeeds(unready)}`)
  if (proof) return { startedAt, ...proof }
  const [obsolete] = observed.obsoleteSets
  if (obsolete !== undefined)
    return { state: 'Delivering', decision: act<DeliveryAction>({ do: 'retire-set', set: obsolete }), startedAt }
  return { state: 'Healthy', decision: done, startedAt, attempts: 0, lastAttemptAt: undefined }
}

/** The first preflight check that fails. */
function findBlocker({ preflight }: Pick<ObservedStage, 'preflight'>): Blocker | undefined {
  for (const { check, found } of preflight) {
    const blocker = check.decide(found)
    if (blocker) return blocker
  }
  return undefined
}

/** A set of a person that brings the same release; what is in place already stays. */
function findForeignSet(observed: ObservedStage, { foreignSets = [] }: ObservedDelivery): Blocker | undefined {
  const set = isInPlace(observed) ? undefined : blockingSet(foreignSets, observed.stage)
  if (!set) return undefined
  const message = `ClusterResourceSet ${set.name} also brings Karpenter to this Cluster`
  return { code: 'CAPT_KARPENTER_ELSEWHERE', message, hint: removalHint(set) }
}

function isInPlace({ rendered, parts, gate }: ObservedStage): boolean {
  const isOpen = gate === undefined || (gate.isOurs && gate.isSet)
  return rendered?.is === 'ready' && isOpen && parts.length > 0 && parts.every((part) => part.isWritten)
}

/** A stage that needs this one may go on when it is healthy, or when it has failed and onFailure is Continue. */
function allowsDependents({ state, observed }: StageDecision): boolean {
  if (state === 'Healthy') return true
  return state === 'Failed' && observed.stage.onFailure === 'Continue'
}

function describeNeeds(unready: readonly StageDecision[]): string {
  return unready
    .map(({ observed, decision }) => {
      const speaks = (decision.is === 'waiting' && decision.reason !== 'NeedsNotReady') || decision.is === 'stalled'
      const why = speaks ? ` (${decision.message})` : ''
      return `${observed.stage.name}${why}`
    })
    .sort()
    .join(', ')
}

function missing({ variables, sources }: Extract<Rendered, { is: 'missing' }>): [string, string, number?] {
  if (sources.length > 0) return ['SourceMissing', `There is no ${sources.join(', ')}`, SOURCES_RETRY_SECONDS]
  return ['VariablesMissing', `No value for ${variables.join(', ')}`]
}
