// Judges the proof that machines come: one probe pod per content of a stage. Pure. What was found out is on record
// before the pod goes, and the record is closed after it has gone: a manager may die in between and goes on from there.
import type { StageStatus } from '#api'
import { parseDuration, toTimestamp } from '#lib'
import { act, done, stalled, waiting } from '#runtime'
import type { DeliveryAction, DeliverySeen, StageSeen } from './delivery-seen.ts'
import { healthHint } from './hints.ts'
import type { ProbePod } from './observe-probe.ts'
import { probeKey } from './probe.ts'
import { fail, type Verdict } from './verdict.ts'

export type Verification = NonNullable<StageStatus['verification']>

/** A watch on every pod of the cluster would cost more than looking at one of them for a minute or two. */
const LOOK_SECONDS = 5
const SOON_SECONDS = 0.1

/** Undefined when no proof is wanted, or the one that was asked for is there. */
export function judgeProbe(seen: StageSeen, all: DeliverySeen, before: StageStatus | undefined): Verdict | undefined {
  const { probe, rendered, stage } = seen
  if (!probe || rendered?.is !== 'ready') return undefined
  const { pod, wanted } = probe
  if (!wanted) return pod?.isOurs ? remove(seen, pod) : undefined
  if (pod && !pod.isOurs) return refuseForeign(stage.name)

  const known = seen.before?.verification
  const record = known?.contentHash === rendered.hash ? known : undefined
  if (pod && (!pod.isCurrent || pod.isDeleting)) return remove(seen, pod)
  // Written down before it is made: a pod that nobody remembers would be nobody's to remove.
  if (!record) {
    const startedAt = pod?.createdAt ?? toTimestamp(all.nowMs)
    return note('Asking for a machine with a probe pod', { contentHash: rendered.hash, startedAt })
  }
  if (record.failure !== undefined) return judgeFailure(seen, all, before, record, pod)
  if (record.evidence !== undefined) return pod ? remove(seen, pod) : prove(record, all)
  return judgeWait(seen, all, record, pod)
}

function judgeWait({ stage }: StageSeen, all: DeliverySeen, record: Verification, pod: ProbePod | undefined): Verdict {
  const timeout = stage.nodePool!.verify!.timeout
  const leftMs = Date.parse(record.startedAt) + parseDuration(timeout) - all.nowMs
  const sight = pod?.sight ?? { is: 'pending', message: 'the probe pod is not there' }
  if (sight.is === 'ran') return note(sight.evidence, { ...record, evidence: sight.evidence })
  if (sight.is === 'failed') return broken({ ...record, failure: sight.message })
  if (leftMs <= 0)
    return broken({ ...record, failure: `No machine for the probe pod after ${timeout}: ${sight.message}` })
  if (!pod) return { state: 'Checking', decision: act<DeliveryAction>({ do: 'create-probe', stage: stage.name }) }
  const seconds = Math.min(LOOK_SECONDS, leftMs / 1000)
  return { state: 'Checking', decision: waiting('ProbePending', `Waiting for a machine: ${sight.message}`, seconds) }
}

/** The pod goes first; only then does the wait for the next attempt begin, so that nothing costs money meanwhile. */
function judgeFailure(
  seen: StageSeen,
  all: DeliverySeen,
  before: StageStatus | undefined,
  record: Verification,
  pod: ProbePod | undefined,
): Verdict {
  const fault = faultOf(record.failure!)
  if (pod) return { ...remove(seen, pod), failure: fault }
  const again: DeliveryAction = { do: 'create-probe', stage: seen.stage.name }
  const verdict = fail('Checking', fault, [again], seen, all, before)
  if (verdict.decision.is !== 'act') return verdict
  return { ...verdict, verification: { contentHash: record.contentHash, startedAt: toTimestamp(all.nowMs) } }
}

function prove(record: Verification, all: DeliverySeen): Verdict {
  const verification = { ...record, endedAt: toTimestamp(all.nowMs) }
  return { state: 'Healthy', decision: done, attempts: 0, lastAttemptAt: undefined, verification }
}

function remove({ stage }: StageSeen, { isDeleting }: ProbePod): Verdict {
  const decision = isDeleting
    ? waiting('ProbeLeaving', 'The probe pod is going away', 1)
    : act<DeliveryAction>({ do: 'remove-probe', stage: stage.name })
  return { state: 'Checking', decision }
}

const note = (message: string, verification: Verification): Verdict => ({
  state: 'Checking',
  decision: waiting('Probing', message, SOON_SECONDS),
  verification,
})

const broken = (verification: Verification): Verdict => ({
  ...note(verification.failure!, verification),
  failure: faultOf(verification.failure!),
})

function faultOf(message: string): NonNullable<Verdict['failure']> {
  const hint = /PodScheduled|no scheduler|not there/.test(message)
    ? 'Karpenter made no machine that fits: read its log and kubectl describe nodeclaims; role, subnets, quota, zones and limits of the pool are the usual causes'
    : /probe pod failed/.test(message)
      ? 'A machine came, but the pod did not run there: look at nodePool.verify.image and at what the node refuses'
      : healthHint(message)
  return { code: 'CAPT_NODES_NOT_PROVEN', message, hint }
}

function refuseForeign(stage: string): Verdict {
  const { namespace, name } = probeKey(stage)
  const message = `Pod ${namespace}/${name} exists in the workload cluster and is not capt's`
  const hint = 'Rename or delete it; capt does not touch it'
  return {
    state: 'Failed',
    decision: stalled('ProbeForeign', message, hint, 300),
    failure: { code: 'CAPT_PROBE_FOREIGN', message, hint },
  }
}

/** What stays on record: the proof for as long as it is asked for, an open one until its pod has surely gone. */
export function recordProof(seen: StageSeen, verification: Verification | undefined): Verification | undefined {
  if (verification) return verification
  const known = seen.before?.verification
  if (!known || seen.stage.nodePool?.verify) return known
  const isGone = known.endedAt !== undefined || (seen.probe !== undefined && !seen.probe.pod?.isOurs)
  return isGone ? undefined : known
}
