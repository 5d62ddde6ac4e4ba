// The stage types. A new type is a definition in stages/ and an entry here; its schema is an entry in api/kinds.
import type { AddonStage, StageField } from '#api'
import { CaptError } from '#lib'
import { deliveredObjects } from '../teardown/delivered.ts'
import { fluxStage } from './flux.ts'
import { karpenterStage } from './karpenter.ts'
import { nodePoolStage } from './node-pool.ts'
import { resourcesStage } from './resources.ts'
import type { StageType } from './stage-type.ts'

/** By the field of the stage that chooses the type. */
const STAGE_TYPES: Readonly<Record<StageField, StageType>> = {
  flux: fluxStage,
  karpenter: karpenterStage,
  nodePool: nodePoolStage,
  resources: resourcesStage,
}
const FIELDS = Object.keys(STAGE_TYPES) as readonly StageField[]

/** A stage that a newer capt wrote: it is refused, and removed by the payloads that were delivered. */
const unknownStage: StageType = {
  render: ({ stage }) => {
    throw new CaptError('CAPT_STAGE_UNKNOWN', `Stage ${stage.name} has none of the types ${FIELDS.join(', ')}`, {
      hint: 'Set one of them, or run the version of capt that has the type',
    })
  },
  removal: () => [deliveredObjects],
}

export function typeOf(stage: AddonStage): StageType {
  const field = FIELDS.find((one) => stage[one] !== undefined)
  return field ? STAGE_TYPES[field] : unknownStage
}
