// An AddonDelivery as a branch: its stages in order, each with what was delivered and what was seen.
import { type AddonDelivery, conditionOf } from '#api'
import { type Branch, type State, stateOf, wordOf } from './branch.ts'

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
  const stages = (delivery.status?.stages ?? []).filter((stage) => stage.state !== 'NotWanted')
  const state = stateOf(delivery)
  const ready = conditionOf(delivery, 'Ready')
  const chain = stages
    .map((stage) => [stage.name, stage.adopted ?? stage.wantedVersion].filter(Boolean).join(' '))
    .join(' → ')
  return {
    name: `AddonDelivery/${delivery.metadata.name}`,
    state,
    word: wordOf(state),
    fact: state === 'ready' ? chain : (ready?.message.split('\n')[0] ?? ''),
    ...(ready ? { since: ready.lastTransitionTime } : {}),
    children: stages.map(stageBranch),
  }
}

function stageBranch(stage: Stage): Branch {
  const state = STAGE_STATE[stage.state]
  const evidence = stage.healthy?.evidence?.join(', ') ?? ''
  const stop = stage.lastError
  return {
    name: stage.name,
    state,
    word: stage.state.toLowerCase(),
    fact: state === 'ready' ? evidence : (stage.message ?? stage.reason ?? ''),
    ...(stage.healthy?.since ? { since: stage.healthy.since } : {}),
    ...(state === 'stalled' && stop
      ? {
          stop: {
            what: `${stage.name}: ${stop.message}`,
            why: stage.message ?? 'the stage failed',
            todo: `${stop.hint ?? 'fix the cause'} (docs/errors.md#${stop.code})`,
            safe: stage.delivered?.equal ? 'what was delivered is unchanged' : 'nothing of this stage was removed',
          },
        }
      : {}),
    children: [],
  }
}

/** One row per carrier of each stage: what the binding says and what was seen. */
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
