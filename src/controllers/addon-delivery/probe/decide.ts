// Decides the verification that nodes join: one probe pod per content of a stage. Pure. The result is recorded before
// the pod is deleted, and the record is closed once it is gone, so that a restarted manager resumes from the record.
import type { StageStatus } from '#api'
import { parseDuration, toTimestamp } from '#lib'
import { act, done, waiting } from '#runtime'
import { healthHint } from '../health/hints.ts'
import type { DeliveryAction, ObservedDelivery, ObservedStage } from '../observed.ts'
import { typeOf } from '../stages/registry.ts'
import { fail, stop, type Verdict } from '../stages/verdict.ts'
import type { ObservedProbe, ProbePod } from './observe.ts'
import { probeKey } from './probe.ts'

export type Verification = NonNullable<StageStatus['verification']>

type WantedProbe = ObservedProbe & { readonly wanted: object }

/** A watch on every pod of the cluster would cost more than polling one of them for a minute or two. */
const POLL_SECONDS = 5
const SOON_SECONDS = 0.1

/** Undefined when no verification is requested, or the requested one is recorded. */
export function decideProbe(
  observed: ObservedStage,
  all: ObservedDelivery,
  before: StageStatus | undefined,
): Verdict | undefined {
  const { probe, rendered, stage } = observed
  if (!probe || rendered?.is !== 'ready') return undefined
  const { pod, wanted } = probe
  if (!wanted) return pod?.isOurs ? remove(observed, pod) : undefined
  if (pod && !pod.isOurs) return refuseForeign(stage.name)

  const known = observed.before?.verification
  const record = known?.contentHash === rendered.hash ? known : undefined
  if (pod && (!pod.isCurrent || pod.isDeleting)) return remove(observed, pod)
  // Recorded before it is created: a pod without a record would never be deleted.
  if (!record) {
    const startedAt = pod?.createdAt ?? toTimestamp(all.nowMs)
    return note('Asking for a machine with a probe pod', { contentHash: rendered.hash, startedAt })
  }
  if (record.failure !== undefined) return decideFailure(observed, all, before, record, { wanted, pod })
  if (record.evidence !== undefined) return pod ? remove(observed, pod) : prove(record, all)
  return decideWait(observed, all, record, { wanted, pod })
}

function decideWait(
  { stage }: ObservedStage,
  all: ObservedDelivery,
  record: Verification,
  { wanted, pod }: WantedProbe,
): Verdict {
  const { timeout } = typeOf(stage).verification!(stage)!
  const leftMs = Date.parse(record.startedAt) + parseDuration(timeout) - all.nowMs
  const state = pod?.state ?? { is: 'pending', message: 'the probe pod is not there' }
  if (state.is === 'ran') return note(state.evidence, { ...record, evidence: state.evidence })
  if (state.is === 'failed') return broken({ ...record, failure: state.message })
  if (leftMs <= 0)
    return broken({ ...record, failure: `No machine for the probe pod after ${timeout}: ${state.message}` })
  if (!pod) return { state: 'Checking', decision: act<DeliveryAction>({ do: 'create-probe', pod: wanted }) }
  const seconds = Math.min(POLL_SECONDS, leftMs / 1000)
  return { state: 'Checking', decision: waiting('ProbePending', `Waiting for a machine: ${state.message}`, seconds) }
}

/** The pod is deleted before the backoff begins, so that no node is paid for meanwhile. */
function decideFailure(
  observed: ObservedStage,
  all: ObservedDelivery,
  before: StageStatus | undefined,
  record: Verification,
  { wanted, pod }: WantedProbe,
): Verdict {
  const fault = faultOf(record.failure!)
  if (pod) return { ...remove(observed, pod), failure: fault }
  const again: DeliveryAction = { do: 'create-probe', pod: wanted }
  const verdict = fail('Checking', fault, [again], observed, all, before)
  if (verdict.decision.is !== 'act') return verdict
  return { ...verdict, verification: { contentHash: record.contentHash, startedAt: toTimestamp(all.nowMs) } }
}

function prove(record: Verification, all: ObservedDelivery): Verdict {
  const verification = { ...record, endedAt: toTimestamp(all.nowMs) }
  return { state: 'Healthy', decision: done, attempts: 0, lastAttemptAt: undefined, verification }
}

function remove({ stage }: ObservedStage, { isDeleting }: ProbePod): Verdict {
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
  return stop('ProbeForeign', { code: 'CAPT_PROBE_FOREIGN', message, hint }, 300)
}

/** The verification to keep in status: as long as it is requested, and an open one until its pod is gone. */
export function recordProof(observed: ObservedStage, verification: Verification | undefined): Verification | undefined {
  if (verification) return verification
  const known = observed.before?.verification
  if (!known || typeOf(observed.stage).verification?.(observed.stage)) return known
  const isGone = known.endedAt !== undefined || (observed.probe !== undefined && !observed.probe.pod?.isOurs)
  return isGone ? undefined : known
}
