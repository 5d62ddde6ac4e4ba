// The stage types. A new type is a definition in stages/ and an entry here; its schema is an entry in api/kinds.
import type { AddonStage } from '#api'
import { fluxStage } from './flux.ts'
import { karpenterStage } from './karpenter.ts'
import { nodePoolStage } from './node-pool.ts'
import { resourcesStage } from './resources.ts'
import type { StageType } from './stage-type.ts'

const STAGE_TYPES: readonly StageType[] = [fluxStage, karpenterStage, nodePoolStage, resourcesStage]

export function typeOf(stage: AddonStage): StageType {
  return STAGE_TYPES.find(({ field }) => stage[field] !== undefined) ?? resourcesStage
}
