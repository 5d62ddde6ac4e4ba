// Decides the next step of one stage. Pure. Read top to bottom: needs, content, workload, what is already there, the
// gate, then part by part deliver and look. A failure is tried again with backoff until the limit, then a person acts.
import type { StageStatus } from '#api'
import { parseDuration, toTimestamp } from '#lib'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import type { DeliveryAction, DeliverySeen, PartSeen, StageSeen } from './delivery-seen.ts'
import { healthHint } from './hints.ts'

export type StageState = StageStatus['state']

export interface StageJudgement {
  readonly seen: StageSeen
  readonly state: StageState
  readonly decision: Decision<DeliveryAction>
  readonly failure?: { readonly code: string; readonly message: string; readonly hint: string }
  readonly attempts: number
  readonly lastAttemptAt: string | undefined
  readonly failedAt: string | undefined
  readonly startedAt: string | undefined
  readonly adopted?: string
}

const MAX_BACKOFF_MS = 600_000

type Verdict = Pick<StageJudgement, 'state' | 'decision'> & Partial<StageJudgement>

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

function verdictOf(seen: StageSeen, all: DeliverySeen, earlier: readonly StageJudgement[], before: StageStatus | undefined): Verdict {
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

  const gate: DeliveryAction[] = seen.gate && !(seen.gate.isOurs && seen.gate.isSet) ? [{ do: 'open-gate', label: seen.gate.label }] : []
  const startedAt = before?.startedAt ?? toTimestamp(all.nowMs)
  for (const [index, part] of seen.parts.entries()) {
    const verdict = judgePart(seen, part, index, all, before, gate)
    if (verdict) return { startedAt, ...verdict }
  }
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

function missing({ variables, sources }: { variables: readonly string[]; sources: readonly string[] }): [string, string] {
  if (sources.length > 0) return ['SourceMissing', `There is no ${sources.join(', ')}`]
  return ['VariablesMissing', `No value for ${variables.join(', ')}`]
}

function unreachable(workload: Extract<DeliverySeen['workload'], { message: string }>): Verdict {
  if (workload.is === 'forbidden') {
    const hint = 'Give the identity in the kubeconfig an access entry with cluster-admin rights'
    const failure = { code: 'CAPT_WORKLOAD_FORBIDDEN', message: workload.message, hint }
    return { state: 'Failed', decision: stalled('WorkloadForbidden', workload.message, hint, 60), failure }
  }
  const isLogin = workload.is === 'unauthorized'
  const failure = {
    code: isLogin ? 'CAPT_WORKLOAD_UNAUTHORIZED' : 'CAPT_WORKLOAD_UNREACHABLE',
    message: workload.message,
    hint: isLogin ? 'The kubeconfig is refreshed every few minutes; if this stays, check the identity that signs it' : 'Check the network path to the API endpoint of the cluster',
  }
  return { ...pause(isLogin ? 'WorkloadUnauthorized' : 'WorkloadUnreachable', workload.message, 15), failure }
}

/** Nothing that capt did not install is ever overwritten: it is used as it is, or the stage stops. */
function judgeExisting(seen: StageSeen, all: DeliverySeen, before: StageStatus | undefined): Verdict {
  const { existing, stage } = seen
  if (existing.is === 'newer') {
    const message = `Flux ${existing.version} is installed, which is newer than what is wanted`
    const hint = 'Ask for that version or a newer one; capt does not go back'
    return { state: 'Failed', decision: stalled('NewerInstalled', message, hint), failure: { code: 'CAPT_FLUX_NEWER', message, hint } }
  }
  if (existing.is !== 'foreign') return pause('NotLookedYet', 'Looking for what is already installed')
  const what = existing.version ? `Flux ${existing.version}` : 'A Flux of unknown version'
  const refuse = (why: string, hint: string): Verdict => {
    const message = `${what} is already installed (${existing.how})${why}`
    return { state: 'Failed', decision: stalled('ForeignInstalled', message, hint), failure: { code: 'CAPT_FLUX_FOREIGN', message, hint } }
  }
  if (stage.flux?.existing === 'Refuse') return refuse(' and the pipeline refuses it', 'Remove it, or set flux.existing to Adopt')
  if (!existing.version) return refuse(' and cannot be adopted', 'Remove it, or install a release that says its version')
  if (!isUsable(existing.version)) return refuse(' and is too old', 'Upgrade it to 2.6 or later')
  const part = seen.parts[0]
  const verdict = part ? judgeFindings(seen, part, 0, all, before) : undefined
  const adopted = existing.version
  return verdict ? { ...verdict, adopted } : { state: 'Healthy', decision: done, adopted }
}

function isUsable(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 2 || (major === 2 && minor >= 3)
}

/** Undefined when the part is delivered and healthy. */
function judgePart(
  seen: StageSeen,
  part: PartSeen,
  index: number,
  all: DeliverySeen,
  before: StageStatus | undefined,
  gate: readonly DeliveryAction[],
): Verdict | undefined {
  const { stage } = seen
  if (gate.length > 0 || !part.isWritten) {
    const deliver: DeliveryAction[] = part.isWritten ? [] : [{ do: 'deliver', stage: stage.name, part: index }]
    return { state: 'Delivering', decision: act<DeliveryAction>(...gate, ...deliver) }
  }
  const open = part.rows.filter((row) => !row.equal)
  if (open.length > 0) {
    const names = open.map((row) => row.name).sort().join(', ')
    const why = part.complaint ? `: ${part.complaint}` : ''
    const message = `${part.part.set} has not delivered ${names}${why}`
    const isBroken = open.some((row) => !row.applied && row.bindingHash === row.ourHash) || part.complaint !== undefined
    const hint = 'Look at the ClusterResourceSet and its binding; capt makes core look again by itself'
    const fault = { code: 'CAPT_NOT_DELIVERED', message, hint }
    const retry: DeliveryAction = { do: 'nudge', stage: stage.name, part: index, attempt: (before?.attempts ?? 0) + 1 }
    if (isBroken || isLate(seen, all, before)) return fail('Delivering', fault, [retry], seen, all, before)
    return { state: 'Delivering', decision: waiting('NotDelivered', message, untilLate(seen, all, before)) }
  }
  return judgeFindings(seen, part, index, all, before)
}

function judgeFindings(seen: StageSeen, part: PartSeen, index: number, all: DeliverySeen, before: StageStatus | undefined): Verdict | undefined {
  const { findings } = part
  if (!findings) return { state: 'Checking', decision: waiting('NotLookedYet', 'Looking into the workload cluster') }
  const broken = findings.filter((finding) => finding.state === 'failed')
  const open = findings.filter((finding) => finding.state !== 'healthy')
  if (open.length === 0) return undefined
  const isOver = isLate(seen, all, before)
  const message = (broken[0] ?? open.find((finding) => finding.isCause) ?? open[0])!.evidence
  if (broken.length === 0 && !isOver) return { state: 'Checking', decision: waiting('NotHealthy', message, untilLate(seen, all, before)) }
  const code = broken.length > 0 ? 'CAPT_STAGE_UNHEALTHY' : 'CAPT_STAGE_TIMEOUT'
  const text = broken.length > 0 ? message : `Not healthy after ${seen.stage.timeout}: ${message}`
  return fail('Checking', { code, message: text, hint: healthHint(text) }, retriesFor(seen, part, index, before), seen, all, before)
}

/** Releases are told to start over; what no release stands behind is delivered again. */
function retriesFor(seen: StageSeen, { part }: PartSeen, index: number, before: StageStatus | undefined): readonly DeliveryAction[] {
  const attempt = (before?.attempts ?? 0) + 1
  const releases = part.checks.filter((check) => check.type === 'HelmReleaseReady')
  if (releases.length === 0) return [{ do: 'nudge', stage: seen.stage.name, part: index, attempt }]
  return releases.map((check) => ({ do: 'retry-release', namespace: check.namespace ?? '', name: check.name, attempt }))
}

function fail(
  state: StageState,
  fault: { readonly code: string; readonly message: string; readonly hint: string },
  retry: readonly DeliveryAction[],
  { stage }: StageSeen,
  all: DeliverySeen,
  before: StageStatus | undefined,
): Verdict {
  const attempts = before?.attempts ?? 0
  const failedAt = before?.failedAt ?? toTimestamp(all.nowMs)
  if (attempts >= stage.retry.limit) {
    const message = `${fault.message} (gave up after ${attempts} ${attempts === 1 ? 'retry' : 'retries'})`
    return { state: 'Failed', decision: stalled('RetriesExhausted', message, fault.hint, 600), failure: fault, failedAt }
  }
  const backoff = Math.min(MAX_BACKOFF_MS, parseDuration(stage.retry.backoff) * 2 ** attempts)
  const dueInMs = Date.parse(failedAt) + backoff - all.nowMs
  if (dueInMs > 0) {
    const message = `${fault.message} (retry ${attempts + 1} of ${stage.retry.limit} follows)`
    return { state, decision: waiting('RetryScheduled', message, Math.ceil(dueInMs / 1000)), failure: fault, failedAt }
  }
  const lastAttemptAt = toTimestamp(all.nowMs)
  return { state, decision: act(...retry), failure: fault, failedAt: undefined, attempts: attempts + 1, lastAttemptAt }
}

function lateInMs({ stage }: StageSeen, all: DeliverySeen, before: StageStatus | undefined): number | undefined {
  const since = before?.lastAttemptAt ?? before?.startedAt
  return since === undefined ? undefined : Date.parse(since) + parseDuration(stage.timeout) - all.nowMs
}

function isLate(seen: StageSeen, all: DeliverySeen, before: StageStatus | undefined): boolean {
  const left = lateInMs(seen, all, before)
  return left !== undefined && left <= 0
}

function untilLate(seen: StageSeen, all: DeliverySeen, before: StageStatus | undefined): number {
  const left = lateInMs(seen, all, before) ?? parseDuration(seen.stage.timeout)
  return Math.max(1, Math.ceil(left / 1000))
}

function pause(reason: string, message: string, retryAfterSeconds?: number): Verdict {
  return { state: 'Waiting', decision: waiting(reason, message, retryAfterSeconds) }
}
