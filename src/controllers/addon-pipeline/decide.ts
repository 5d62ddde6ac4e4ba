// Decides the next step for one AddonPipeline: deliveries for selected Clusters, and its newest revision for those whose wave has
// come. Pure: same observation, same decision.
import { keyText } from '#api'
import { act, type Decision, done, hasFinalizer, names, stalled, waiting } from '#runtime'
import { PIPELINE_FINALIZER } from '../addon-delivery/names.ts'
import { type ObservedPipeline, type PipelineAction, servedBy } from './observed.ts'
import { decideRollout } from './rollout.ts'

export function decide(observed: ObservedPipeline): Decision<PipelineAction> {
  const { pipeline, deliveries, rollout } = observed
  const isHeld = hasFinalizer(pipeline, PIPELINE_FINALIZER)
  if (pipeline.metadata.deletionTimestamp) {
    if (!isHeld) return done
    if (deliveries.length === 0) return act<PipelineAction>({ do: 'remove-finalizer' })
    return waiting('StillUsed', stillUsedText(observed))
  }
  if (observed.fault) return stalled('PipelineInvalid', observed.fault.message, observed.fault.hint)
  if (!isHeld) return act<PipelineAction>({ do: 'add-finalizer' })
  const actions = actionsOf(observed)
  if (actions.length > 0) return act(...actions)
  return (rollout && decideRollout(rollout)) ?? done
}

/** So many followers are named in a message. */
const NAMED = 5

/** Who follows it and what to do about it: nothing else ends this wait. */
function stillUsedText({ pipeline, deliveries }: ObservedPipeline): string {
  const followers = deliveries
    .map(({ namespace, name }) =>
      namespace === pipeline.metadata.namespace ? { name } : { name: `${namespace}/${name}` },
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const more = followers.length > NAMED ? ` and ${followers.length - NAMED} more` : ''
  const todo = 'Delete them to take their add-ons away (capt delete adeliv NAME), or delete their Clusters'
  return `AddonDeliveries follow this pipeline: ${names(followers.slice(0, NAMED))}${more}. ${todo}`
}

function actionsOf({
  clusters,
  deliveries,
  unselected,
  rollout,
  due = [],
}: ObservedPipeline): readonly PipelineAction[] {
  const served = new Set(deliveries.map(servedBy))
  // A paused Cluster may be on its way to another home, and its delivery with it.
  const missing = clusters.filter((cluster) => !cluster.paused && !served.has(keyText(cluster)))
  return [
    ...missing.map((cluster) => ({ do: 'create-delivery' as const, cluster, revision: rollout?.revision })),
    ...unselected.map(({ namespace, name }) => ({ do: 'release-delivery' as const, delivery: { namespace, name } })),
    ...(rollout ? due.map((one) => ({ do: 'set-revision' as const, revision: rollout.revision, ...one })) : []),
  ]
}
