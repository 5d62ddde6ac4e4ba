// Decides the next step of one stage. Pure. Read top to bottom: needs, content, workload, what is already there, the
// gate, then part by part deliver and look, and last the proof that machines come, where it is asked for.
import type { StageStatus } from '#api'
import { toTimestamp } from '#lib'
import { act, done, stalled } from '#runtime'
import type { DeliveryAction, DeliverySeen, StageSeen } from './delivery-seen.ts'
import { judgeExisting, unreachable } from './judge-existing.ts'
import { judgePart } from './judge-part.ts'
import { judgeProbe } from './judge-probe.ts'
import { pause, type StageJudgement, type Verdict } from './verdict.ts'

/** `earlier` are the judgements of the stages before this one in order. */
export function judgeStage(seen: StageSeen, all: DeliverySeen, earlier: readonly StageJudgement[]): StageJudgement {
  const before = isSameContent(seen) ? seen.before : undefined
  const base = {
    seen,
    attempts: before?.attempts ?? 0,
    lastAttemptAt: before?.lastAttemptAt,
    failedAt: undefined,
    startedAt: before?.startedAt,
  }
  return { ...base, ...verdictOf(seen, all, earlier, before) }
}

function isSameContent({ rendered, before }: StageSeen): boolean {
  return rendered?.is === 'ready' ? before?.contentHash === rendered.hash : before !== undefined
}

function verdictOf(
  seen: StageSeen,
  all: DeliverySeen,
  earlier: readonly StageJudgement[],
  before: StageStatus | undefined,
): Verdict {
  const { stage, rendered } = seen
  if (!seen.isWanted) return { state: seen.hasSets ? 'Removing' : 'NotWanted', decision: done }

  const unready = earlier.filter((other) => stage.needs.includes(other.seen.stage.name) && !lets(other))
  // What is in place stays under watch when something below it breaks; only what is still to be delivered waits.
  if (unready.length > 0 && !isInPlace(seen)) return pause('NeedsNotReady', `Waiting for ${describeNeeds(unready)}`)
  if (!rendered) return pause('KubernetesVersionUnknown', 'Waiting for the control plane to say its Kubernetes version')
  if (rendered.is === 'missing') return pause(...missing(rendered))
  if (rendered.is === 'refused') {
    const { code, message, hint } = rendered
    return { state: 'Failed', decision: stalled('StageRefused', message, hint), failure: { code, message, hint } }
  }
  if (all.workload.is === 'absent') return pause('ControlPlaneNotReady', 'Waiting for the kubeconfig of the cluster')
  if (all.workload.is !== 'open') return unreachable(all.workload)

  const { existing } = seen
  if (existing.is === 'unknown') return pause('NotLookedYet', 'Looking for what is already installed')
  if (existing.is === 'blocked') {
    const { code, message, hint } = existing
    return { state: 'Failed', decision: stalled('Blocked', message, hint, 300), failure: { code, message, hint } }
  }
  if (existing.is === 'foreign' || existing.is === 'newer') return judgeExisting(seen, all, before)

  const gate: DeliveryAction[] =
    seen.gate && !(seen.gate.isOurs && seen.gate.isSet) ? [{ do: 'open-gate', label: seen.gate.label }] : []
  const startedAt = before?.startedAt ?? toTimestamp(all.nowMs)
  for (const [index, part] of seen.parts.entries()) {
    const verdict = judgePart(seen, part, index, all, before, gate)
    // Nothing is tried again on ground that is not there: what lies below comes first.
    if (verdict && unready.length > 0) return pause('NeedsNotReady', `Waiting for ${describeNeeds(unready)}`)
    if (verdict) return { startedAt, ...verdict }
  }
  const proof = judgeProbe(seen, all, before)
  if (proof && unready.length > 0) return pause('NeedsNotReady', `Waiting for ${describeNeeds(unready)}`)
  if (proof) return { startedAt, ...proof }
  const [obsolete] = seen.obsoleteSets
  if (obsolete !== undefined)
    return { state: 'Delivering', decision: act<DeliveryAction>({ do: 'retire-set', set: obsolete }), startedAt }
  return { state: 'Healthy', decision: done, startedAt, attempts: 0, lastAttemptAt: undefined }
}

function isInPlace({ rendered, parts, gate }: StageSeen): boolean {
  const isOpen = gate === undefined || (gate.isOurs && gate.isSet)
  return rendered?.is === 'ready' && isOpen && parts.length > 0 && parts.every((part) => part.isWritten)
}

/** A need lets the next stage go when it is healthy, or when it has failed and was told not to matter. */
function lets(judgement: StageJudgement): boolean {
  if (judgement.state === 'Healthy') return true
  return judgement.state === 'Failed' && judgement.seen.stage.onFailure === 'Continue'
}

function describeNeeds(unready: readonly StageJudgement[]): string {
  return unready
    .map(({ seen, decision }) => {
      const speaks = (decision.is === 'waiting' && decision.reason !== 'NeedsNotReady') || decision.is === 'stalled'
      const why = speaks ? ` (${decision.message})` : ''
      return `${seen.stage.name}${why}`
    })
    .sort()
    .join(', ')
}

function missing({
  variables,
  sources,
}: {
  variables: readonly string[]
  sources: readonly string[]
}): [string, string] {
  if (sources.length > 0) return ['SourceMissing', `There is no ${sources.join(', ')}`]
  return ['VariablesMissing', `No value for ${variables.join(', ')}`]
}
