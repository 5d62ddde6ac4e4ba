// An AddonDelivery as a branch: its stages in order, each with what was delivered and what was seen.
import { type AddonDelivery, conditionOf, UP_TO_DATE } from '#api'
import { adviceFor, explanation, isOrdinary } from './advice.ts'
import { type Branch, type State, type Stop, stateOf, wordOf } from './branch.ts'
import { stopOf } from './stops.ts'

type Stage = NonNullable<NonNullable<AddonDelivery['status']>['stages']>[number]

const STAGE_STATE: Record<Stage['state'], State> = {
  NotWanted: 'ready',
  Waiting: 'waiting',
  Delivering: 'working',
  Checking: 'working',
  Healthy: 'ready',
  Failed: 'stalled',
  Removing: 'deleting',
}

export function deliveryBranch(delivery: AddonDelivery): Branch {
  const stages = (delivery.status?.stages ?? []).filter((stage) => stage.state !== 'NotWanted' || stage.reason)
  const state = stateOf(delivery)
  const ready = conditionOf(delivery, 'Ready')
  const stop = stopOf(delivery, state)
  const chain = stages
    .filter((stage) => stage.state !== 'NotWanted')
    .map((stage) => [stage.name, stage.adopted ?? stage.wantedVersion].filter(Boolean).join(' '))
    .join(' → ')
  return {
    name: `AddonDelivery/${delivery.metadata.name}`,
    state,
    word: wordOf(state),
    fact:
      state === 'ready'
        ? `${chain}${isBehind(delivery) ? '; a change of the pipeline waits for its wave' : ''}`
        : (ready?.message.split('\n')[0] ?? ''),
    ...(stop && ready ? { label: ready.reason } : {}),
    ...(ready ? { since: ready.lastTransitionTime } : {}),
    ...(stop ? { stop } : {}),
    children: stages.map((stage) => stageBranch(stage, delivery)),
  }
}

const isBehind = (delivery: AddonDelivery): boolean => conditionOf(delivery, UP_TO_DATE)?.status === 'False'

function stageBranch(stage: Stage, delivery: AddonDelivery): Branch {
  const state = STAGE_STATE[stage.state]
  const evidence = stage.healthy?.evidence?.join(', ') ?? ''
  const stop = stageStop(stage, delivery)
  return {
    name: stage.name,
    state,
    word: stage.state === 'NotWanted' ? 'not needed' : stage.state.toLowerCase(),
    fact:
      state === 'ready' && stage.state !== 'NotWanted'
        ? (stage.adopted ?? stage.wantedVersion ?? '')
        : (stage.message ?? stage.reason ?? ''),
    ...(state === 'ready' && evidence !== '' ? { detail: evidence } : {}),
    ...(stop ? { label: stage.lastError?.code ?? stage.reason ?? '' } : {}),
    ...(stage.healthy?.since ? { since: stage.healthy.since } : {}),
    ...(stop ? { stop } : {}),
    children: [],
  }
}

/** A stage that failed, that is tried again after a failure, or that was delivered and does not work. */
function stageStop(stage: Stage, { metadata, spec }: AddonDelivery): Stop | undefined {
  if (stage.state === 'Healthy' || stage.state === 'NotWanted') return undefined
  const error = stage.lastError
  const isFailed = stage.state === 'Failed'
  const isUnhealthy = stage.state === 'Checking' && stage.healthy?.status === 'False'
  const isStuck = stage.state === 'Waiting' && stage.reason !== undefined && !isOrdinary(stage.reason)
  if (!error && !isFailed && !isUnhealthy)
    return isStuck ? { what: `${stage.name}: ${stage.message ?? stage.reason}`, ...adviceFor(stage.reason) } : undefined
  const found = stage.healthy?.evidence?.join(', ') || stage.message || stage.reason || 'it failed'
  const attempts = stage.attempts ? ` after ${stage.attempts} ${stage.attempts === 1 ? 'retry' : 'retries'}` : ''
  const command = `capt kubeconfig ${spec.clusterName} > kubeconfig; kubectl --kubeconfig kubeconfig get pods -A`
  const what = error?.message ?? found
  const message = stage.message === what ? undefined : stage.message
  return {
    what: `${stage.name}: ${what}`,
    why: isFailed
      ? `no further attempt follows${attempts}${message ? `: ${message}` : ''}`
      : (message ?? `what was delivered does not work${attempts}; it is looked at again by itself`),
    todo: `${error?.hint ?? `look at its pods: ${command}`}${explanation(what, error?.code)}; capt retry adeliv ${metadata.name} tries again at once`,
    ...((stage.failedAt ?? stage.healthy?.since) ? { since: stage.failedAt ?? stage.healthy?.since } : {}),
    safe: stage.delivered?.equal ? 'what was delivered is unchanged' : 'nothing of this stage was removed',
  }
}

/** One row per payload of each stage: what the binding says and what was seen. */
export function deliveryRows(delivery: AddonDelivery): readonly (readonly string[])[] {
  return (delivery.status?.stages ?? []).flatMap((stage) =>
    (stage.delivered?.resources ?? []).map((resource) => [
      resource.set,
      `${resource.kind}/${resource.name}`,
      resource.applied ? 'yes' : 'no',
      shortHash(resource.bindingHash),
      shortHash(resource.ourHash),
      stage.healthy?.status === 'True' ? 'yes' : stage.healthy?.status === 'False' ? 'no' : 'unknown',
      stage.healthy?.evidence?.join(', ') ?? '',
    ]),
  )
}
export const DELIVERY_HEAD = ['SET', 'RESOURCE', 'APPLIED', 'BINDING', 'OURS', 'HEALTHY', 'EVIDENCE'] as const

const shortHash = (hash: string | undefined): string => (hash ? hash.replace(/^sha256:/, '').slice(0, 8) : '-')
